//! The bridge for local sessions: ends sessions whose process is gone, and watches status files in their worktrees.
//!
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

/// Poll interval.
const LOOK: Duration = Duration::from_secs(2);

/// Checks live sessions until `shutdown`: periodically, and whenever a session begins.
pub async fn watch(hub: &Hub, status_files: &StatusFiles, shutdown: &CancellationToken) {
    let boot_id = boot_id();
    let mut known = HashSet::new();
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = looks.tick() => {}
            () = hub.session_began() => {}
        }
        let local = local_sessions(hub);
        let cwds: Vec<PathBuf> = local.iter().filter_map(|it| it.cwd.clone()).collect();
        status_files.watch_worktrees(&cwds);
        let before = std::mem::take(&mut known);
        known.extend(local.iter().map(|it| (it.project.clone(), it.key.clone())));
        if !known.is_subset(&before) {
            // Read its status file now, because the session may have written it before it was registered.
            status_files.look_again();
        }
        let gone = local.into_iter().filter(|session| {
            let process = session.process.as_ref().zip(boot_id.as_deref());
            process.is_some_and(|(process, boot_id)| is_gone(process, boot_id, session.is_here))
        });
        let gone: Vec<Local> = gone.collect();
        if !gone.is_empty() {
            // Store the session's last status before its end.
            let cwds: Vec<PathBuf> = gone.iter().filter_map(|it| it.cwd.clone()).collect();
            status_files.settle(&cwds).await;
        }
        for session in gone {
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
struct Local {
    project: ProjectName,
    key: InboxName,
    cwd: Option<PathBuf>,
    process: Option<Process>,
    /// Whether the session named this machine as its host.
    is_here: bool,
}

/// The live sessions of this machine. One without a host is included, because its process may show that it runs here.
fn local_sessions(hub: &Hub) -> Vec<Local> {
    let host = host();
    let found = hub.read(|state, _| {
        let alive = state.sessions(None).filter(|(_, _, it)| it.is_alive());
        let local = |(project, key, it): (&ProjectName, &InboxName, &Session)| {
            let info = it.info()?;
            let elsewhere = info.host.as_ref().is_some_and(|it| *it != host);
            (!elsewhere).then(|| Local {
                project: project.clone(),
                key: key.clone(),
                cwd: info.cwd.as_ref().map(PathBuf::from),
                process: info.process.clone(),
                is_here: info.host.is_some(),
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
pub(super) fn began(process: &Process) -> Option<Timestamp> {
    // USER_HZ, whose value is part of Linux's ABI.
    const MILLIS_PER_TICK: i64 = 10;
    let here = process.boot_id.is_some() && process.boot_id == boot_id();
    let ticks = i64::try_from(process.started.filter(|_| here)?).ok()?;
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
fn is_gone(process: &Process, boot_id: &str, is_here: bool) -> bool {
    match process.boot_id.as_deref() {
        Some(boot) if boot == boot_id => process
            .started
            .is_some_and(|started| start_of(process.pid) != Some(started)),
        Some(_) => is_here,
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
pub(super) fn start_of(pid: u32) -> Option<u64> {
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
pub(super) fn start_of(_: u32) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_gone_when_its_number_is_free_or_reused() {
        let own = |started| Process {
            pid: std::process::id(),
            started,
            boot_id: boot_id(),
        };
        let boot = boot_id().unwrap();
        let started = start_of(std::process::id()).unwrap();
        assert!(!is_gone(&own(Some(started)), &boot, true));
        assert!(is_gone(&own(Some(started + 1)), &boot, false));
        assert!(!is_gone(&own(None), &boot, true), "it said too little");
        assert!(is_gone(&own(Some(started)), "another boot", true));
        assert!(!is_gone(&own(Some(started)), "another boot", false));
    }
}
