//! Sessions of this machine: when the process of one is gone, the hub is told; the worktree of each has status files.
//!
//! A number alone is given again to another process; with the time of its start and the boot it is not. No process
//! outlives its machine's boot.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use hub_protocol::{InboxName, Process, ProjectName};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::status_files::StatusFiles;
use crate::command::Command;
use crate::hub::Hub;
use crate::state::Session;

/// How often to look.
const LOOK: Duration = Duration::from_secs(2);

/// Looks after live sessions until `shutdown`.
pub async fn watch(hub: &Hub, status_files: &StatusFiles, shutdown: &CancellationToken) {
    let boot_id = boot_id();
    let mut watched = HashSet::new();
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = looks.tick() => {}
        }
        for session in local_sessions(hub).await {
            let worktree = session.cwd.map(|cwd| (session.project.clone(), cwd));
            if let Some((project, cwd)) = worktree.filter(|it| watched.insert(it.clone())) {
                status_files.watch_worktree(&project, Path::new(&cwd));
            }
            let process = session.process.zip(boot_id.as_deref());
            let is_here = session.is_here;
            if process.is_some_and(|(process, boot_id)| is_gone(&process, boot_id, is_here)) {
                end(hub, session.project, session.key).await;
            }
        }
    }
}

async fn end(hub: &Hub, project: ProjectName, session: InboxName) {
    let command = Command::End {
        project,
        session,
        gone: true,
    };
    if let Err(error) = hub.submit(command).await {
        tracing::warn!(%error, "a session whose process is gone could not be ended");
    }
}

/// A live session of this machine.
struct Local {
    project: ProjectName,
    key: InboxName,
    cwd: Option<String>,
    process: Option<Process>,
    /// Whether it says that this is its machine.
    is_here: bool,
}

/// A session that does not say where it runs may run here: its process tells.
async fn local_sessions(hub: &Hub) -> Vec<Local> {
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let found = hub.query(move |state, _| {
        let alive = state.sessions(None).filter(|(_, _, it)| it.is_alive());
        let local = |(project, key, it): (&ProjectName, &InboxName, &Session)| {
            let info = it.info()?;
            let elsewhere = info.host.as_ref().is_some_and(|it| *it != host);
            (!elsewhere).then(|| Local {
                project: project.clone(),
                key: key.clone(),
                cwd: info.cwd.clone(),
                process: info.process.clone(),
                is_here: info.host.is_some(),
            })
        };
        alive.filter_map(local).collect()
    });
    found.await.unwrap_or_default()
}

/// Whether a process of this machine is no more. Of another machine's nothing is known, nor of one that says too
/// little. One of another boot was here before a reboot, and is gone, if its session says that it was here: those of
/// another machine look the same.
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
fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// Field 22 of `proc_pid_stat(5)`; the second field may hold anything and ends with the last parenthesis. A zombie has
/// ended.
#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> Option<String> {
    None
}

#[cfg(not(target_os = "linux"))]
fn start_of(_: u32) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_gone_when_its_number_is_free_or_anothers() {
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
