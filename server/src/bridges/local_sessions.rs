//! The bridge for local sessions: ends sessions whose process is gone, and watches status files in their worktrees.
//!
//! [`exits`] reports the end of a process at once, where the system can; the poll sees the rest.
//! The system reuses a process number, but not together with its start time and boot. No process outlives its machine's
//! boot.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use hub_protocol::{InboxName, Process, ProjectName, Timestamp};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::status_files::StatusFiles;
use crate::core::command::Command;
use crate::fold::Session;
use crate::hub::Hub;

mod exits;

use exits::Exits;

/// The identity of a process within one boot: its number and its start time.
pub(super) type ProcessId = (u32, Option<u64>);

pub(super) fn process_id(process: &Process) -> ProcessId {
    (process.pid, process.started)
}

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Checks live sessions until `shutdown`: periodically, and whenever a session begins.
pub async fn watch(hub: &Hub, status_files: &StatusFiles, shutdown: &CancellationToken) {
    let boot_id = boot_id();
    let mut known = HashSet::new();
    let mut exits = Exits::default();
    let mut polls = tokio::time::interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = polls.tick() => {}
            () = hub.session_began() => {}
            () = exits.next() => {}
        }
        let local = local_sessions(hub);
        let processes = local.iter().filter_map(|it| it.process.as_ref());
        exits.watch(processes.filter(|it| it.boot_id.is_some() && it.boot_id == boot_id));
        let cwds: Vec<PathBuf> = local.iter().filter_map(|it| it.cwd.clone()).collect();
        status_files.watch_worktrees(&cwds);
        let previous = std::mem::take(&mut known);
        known.extend(local.iter().map(|it| (it.project.clone(), it.key.clone())));
        if !known.is_subset(&previous) {
            // Read its status file now, because the session may have written it before it was registered.
            status_files.request_scans();
        }
        let ended = local.into_iter().filter(|session| {
            let process = session.process.as_ref().zip(boot_id.as_deref());
            process.is_some_and(|(process, boot_id)| {
                has_ended(process, boot_id, session.names_this_host)
            })
        });
        let ended: Vec<LocalSession> = ended.collect();
        if !ended.is_empty() {
            // Store the session's last status before its end.
            let cwds: Vec<PathBuf> = ended.iter().filter_map(|it| it.cwd.clone()).collect();
            status_files.scan_now(&cwds).await;
        }
        for session in ended {
            end(hub, session.project, session.key).await;
        }
    }
}

async fn end(hub: &Hub, project: ProjectName, session: InboxName) {
    let command = Command::End {
        project,
        session,
        exited: true,
        quiet: false,
    };
    if let Err(error) = hub.submit(command).await {
        tracing::warn!(%error, "a session whose process is gone could not be ended");
    }
}

/// A live session of this machine.
struct LocalSession {
    project: ProjectName,
    key: InboxName,
    cwd: Option<PathBuf>,
    process: Option<Process>,
    /// Whether the session named this machine as its host.
    names_this_host: bool,
}

/// The live sessions of this machine. One without a host is included, because its process may show that it runs here.
fn local_sessions(hub: &Hub) -> Vec<LocalSession> {
    let host = host();
    let found = hub.read(|state, _| {
        let alive = state.sessions(None).filter(|(_, _, it)| it.is_alive());
        let local = |(project, key, it): (&ProjectName, &InboxName, &Session)| {
            let info = it.info()?;
            let elsewhere = info.host.as_ref().is_some_and(|it| *it != host);
            (!elsewhere).then(|| LocalSession {
                project: project.clone(),
                key: key.clone(),
                cwd: info.cwd.as_ref().map(PathBuf::from),
                process: info.process.clone(),
                names_this_host: info.host.is_some(),
            })
        };
        alive.filter_map(local).collect()
    });
    found.unwrap_or_default()
}

/// This machine's name.
pub(super) fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Start time of a process of this boot; `None` if its start or boot is unknown.
pub(super) fn process_started_at(process: &Process) -> Option<Timestamp> {
    // USER_HZ, whose value is part of Linux's ABI.
    const MILLIS_PER_TICK: i64 = 10;
    let this_boot = process.boot_id.is_some() && process.boot_id == boot_id();
    let ticks = i64::try_from(process.started.filter(|_| this_boot)?).ok()?;
    let up = since_boot()?;
    Some(Timestamp::now().plus_millis(ticks.checked_mul(MILLIS_PER_TICK)? - up))
}

/// Milliseconds since the machine booted, including suspended time.
#[cfg(target_os = "linux")]
fn since_boot() -> Option<i64> {
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    up.tv_sec
        .checked_mul(1000)?
        .checked_add(up.tv_nsec / 1_000_000)
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> Option<i64> {
    None
}

/// Whether a process of this machine has ended. The answer is no for a process with too few facts. One of another boot
/// has ended with the reboot, but only if its session names this host: processes of other machines look the same.
fn has_ended(process: &Process, boot_id: &str, names_this_host: bool) -> bool {
    match process.boot_id.as_deref() {
        Some(boot) if boot == boot_id => process
            .started
            .is_some_and(|started| start_ticks(process.pid) != Some(started)),
        Some(_) => names_this_host,
        None => false,
    }
}

#[cfg(target_os = "linux")]
pub(super) fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Start time of a process: field 22 of `proc_pid_stat(5)`. The second field may contain anything and ends with the
/// last parenthesis. A zombie counts as ended.
#[cfg(target_os = "linux")]
pub(super) fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn boot_id() -> Option<String> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn start_ticks(_: u32) -> Option<u64> {
    None
}

/// The identity of this test's own process.
#[cfg(test)]
pub(super) fn own_process() -> Process {
    let pid = std::process::id();
    Process {
        pid,
        started: start_ticks(pid),
        boot_id: boot_id(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_gone_when_its_number_is_free_or_reused() {
        let own = |started| Process {
            started,
            ..own_process()
        };
        let boot = boot_id().unwrap();
        let started = start_ticks(std::process::id()).unwrap();
        assert!(!has_ended(&own(Some(started)), &boot, true));
        assert!(has_ended(&own(Some(started + 1)), &boot, false));
        assert!(!has_ended(&own(None), &boot, true), "it said too little");
        assert!(has_ended(&own(Some(started)), "another boot", true));
        assert!(!has_ended(&own(Some(started)), "another boot", false));
    }
}
