//! The bridge for local sessions: ends sessions whose process is gone, and watches status files in their worktrees.
//!
//! [`exits`] reports the end of a process at once, where the system can; the poll sees the rest.
//! The system reuses a process number, but not together with its start time and boot. No process outlives its machine's
//! boot.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hub_core::command::Command;
use hub_core::fold::Session;
use hub_engine::Hub;
use hub_protocol::process::{boot_id, started, started_at};
use hub_protocol::{InboxName, Process, ProjectName, Timestamp};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::status_files::StatusFiles;

mod exits;

use exits::Exits;

/// The identity of a process within one boot: its number and its start time.
pub(super) type ProcessId = (u32, Option<u64>);

pub(super) fn process_id(process: &Process) -> ProcessId {
    (process.pid, process.started)
}

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// A look takes longer the more sessions there are, so it is followed by a rest of nine times as long.
const REST: u32 = 9;

/// Checks live sessions until `shutdown`: periodically, and whenever a session begins.
pub async fn watch(hub: Hub, status_files: StatusFiles, shutdown: CancellationToken) {
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
        let began = Instant::now();
        let (of, files) = (hub.clone(), status_files.clone());
        let look = tokio::task::spawn_blocking(move || look(&of, &files)).await;
        let local = match look {
            Ok(local) => local,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The hub ends.
                Err(_) => return,
            },
        };
        let of_this_boot = local.iter().filter(|it| it.is_of_this_boot);
        exits.watch(of_this_boot.filter_map(|it| it.process.as_ref()));
        let previous = std::mem::take(&mut known);
        known.extend(local.iter().map(|it| (it.project.clone(), it.key.clone())));
        if !known.is_subset(&previous) {
            // Read its status file now, because the session may have written it before it was registered.
            status_files.request_scans();
        }
        let ended: Vec<LocalSession> = local.into_iter().filter(|it| it.has_ended).collect();
        let rest = (began.elapsed() * REST).min(POLL_INTERVAL);
        if !ended.is_empty() {
            // Store the session's last status before its end.
            let cwds: Vec<PathBuf> = ended.iter().filter_map(|it| it.cwd.clone()).collect();
            status_files.scan_now(&cwds).await;
        }
        for session in ended {
            end(&hub, session).await;
        }
        shutdown.run_until_cancelled(tokio::time::sleep(rest)).await;
    }
}

/// Finds the live sessions of this machine, and watches their worktrees.
fn look(hub: &Hub, status_files: &StatusFiles) -> Vec<LocalSession> {
    let boot_id = boot_id();
    let mut local = local_sessions(hub);
    let cwds: Vec<PathBuf> = local.iter().filter_map(|it| it.cwd.clone()).collect();
    status_files.watch_worktrees(&cwds);
    for session in &mut local {
        if let (Some(process), Some(boot_id)) = (&session.process, &boot_id) {
            session.is_of_this_boot = process.boot_id.as_ref() == Some(boot_id);
            session.has_ended = has_ended(process, boot_id, session.names_this_host);
        }
        // All that a job lets be heard before its end is that it runs.
        if session.is_job && session.is_of_this_boot && !session.has_ended {
            let place = (session.project.clone(), session.key.clone());
            let mut waiters = hub.waiters().write();
            waiters.activity().note(place, Timestamp::now());
        }
    }
    local
}

async fn end(hub: &Hub, session: LocalSession) {
    let command = Command::End {
        project: session.project,
        session: session.key,
        exited: true,
        process: session.process,
        quiet: false,
    };
    if let Err(error) = hub.submit(command).await {
        tracing::warn!(%error, "a session whose process is gone could not be ended");
    }
}

/// A live session of this machine, in one of the processes that run it.
#[allow(clippy::struct_excessive_bools)] // independent facts
struct LocalSession {
    project: ProjectName,
    key: InboxName,
    cwd: Option<PathBuf>,
    process: Option<Process>,
    /// Whether the session named this machine as its host.
    names_this_host: bool,
    /// Whether `hubctl run` runs it.
    is_job: bool,
    is_of_this_boot: bool,
    has_ended: bool,
}

/// The live sessions of this machine, each for every process that runs it. One without a host is included, because its process may show that it runs here.
fn local_sessions(hub: &Hub) -> Vec<LocalSession> {
    let host = host();
    let found = hub.read(|state, _| {
        let alive = state.sessions.iter(None).filter(|(_, _, it)| it.is_alive());
        let local = |(project, key, it): (&ProjectName, &InboxName, &Session)| {
            let info = it.info()?;
            let elsewhere = info.host.as_ref().is_some_and(|it| *it != host);
            let in_process = |process: Option<&Process>| LocalSession {
                project: project.clone(),
                key: key.clone(),
                cwd: info.cwd.as_ref().map(PathBuf::from),
                process: process.cloned(),
                names_this_host: info.host.is_some(),
                is_job: it.is_job(),
                is_of_this_boot: false,
                has_ended: false,
            };
            let mut all: Vec<_> = it.processes().map(|it| in_process(Some(it))).collect();
            if all.is_empty() {
                all.push(in_process(None));
            }
            (!elsewhere).then_some(all)
        };
        alive.filter_map(local).flatten().collect()
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
    let this_boot = process.boot_id.is_some() && process.boot_id == boot_id();
    process.started.filter(|_| this_boot).and_then(started_at)
}

/// Whether a process of this machine has ended. The answer is no for a process with too few facts. One of another boot
/// has ended with the reboot, but only if its session names this host: processes of other machines look the same.
fn has_ended(process: &Process, boot_id: &str, names_this_host: bool) -> bool {
    match process.boot_id.as_deref() {
        Some(boot) if boot == boot_id => process
            .started
            .is_some_and(|it| started(process.pid) != Some(it)),
        Some(_) => names_this_host,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_when_its_number_is_free_or_reused() {
        let own = |started| Process {
            started,
            ..Process::running(std::process::id())
        };
        let boot = boot_id().unwrap();
        let started = started(std::process::id()).unwrap();
        assert!(!has_ended(&own(Some(started)), &boot, true));
        assert!(has_ended(&own(Some(started + 1)), &boot, false));
        assert!(!has_ended(&own(None), &boot, true), "it said too little");
        assert!(has_ended(&own(Some(started)), "another boot", true));
        assert!(!has_ended(&own(Some(started)), "another boot", false));
    }
}
