//! The bridge for Claude Code's session files, which say whether a session is idle, busy or shows a dialog.
//!
//! Hooks report everything except Escape: it ends a turn or leaves a dialog, and no hook runs. So while a session of
//! this machine is in a turn or shows a dialog, the bridge also reads `CONFIG_DIR/sessions/PID.json`. It does not trust
//! the file: the process must be the session's, and the file must be small, the hub user's own, and not a link.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hub_protocol::{InboxName, Process, ProjectName, SessionInfo, Timestamp};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::local_sessions::{boot_id, start_ticks};
use super::untrusted_dir::UntrustedDir;
use crate::core::command::{AgentEvent, Command, Hook};
use crate::fold::{Session, SessionKey, State};
use crate::hub::Hub;

/// Poll interval while a session is in a turn or shows a dialog.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A file that calls a session idle although its turn began later is believed after this delay, because it may be
/// written late.
const IDLE_DELAY: Duration = Duration::from_secs(2);

/// Timeout of the file system. After a timeout the bridge does not read this process's file again.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

/// Largest session file in bytes; below, the largest environment.
const MAX_FILE: usize = 64 * 1024;
const MAX_ENVIRONMENT: u64 = 4 * 1024 * 1024;

/// A session in a turn or a dialog, which Escape may end.
#[derive(Debug, Clone)]
struct ActiveSession {
    key: SessionKey,
    process: Process,
    /// The start of its turn, or of its dialog.
    since: Timestamp,
    dialog: Option<Timestamp>,
}

/// A process whose session file is read.
#[derive(Debug, Default)]
struct TrackedProcess {
    /// Claude Code's configuration directory; `None` if it was not found or does not answer.
    dir: Option<PathBuf>,
    /// The turn in which the file says idle, by the turn's start, and when the bridge first read that.
    idle: Option<(Timestamp, Instant)>,
}

/// The content of a session file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionFile {
    pid: u32,
    #[serde(default)]
    proc_start: Option<String>,
    status: String,
    status_updated_at: i64,
}

/// Submits an event for each Escape, until `shutdown`.
pub async fn watch(hub: &Hub, shutdown: &CancellationToken) {
    let Some(boot_id) = boot_id() else { return };
    let mut log = hub.log().subscribe();
    let mut processes = HashMap::new();
    loop {
        let active = active_sessions(hub, &boot_id);
        processes.retain(|process, _| active.iter().any(|it| process_id(&it.process) == *process));
        for session in &active {
            let id = process_id(&session.process);
            if let Entry::Vacant(new) = processes.entry(id) {
                let dir = config_dir(&session.process).await;
                new.insert(TrackedProcess { dir, idle: None });
            }
            if let Some(process) = processes.get_mut(&id) {
                poll(hub, session, process).await;
            }
        }
        if active.is_empty() {
            tokio::select! {
                () = shutdown.cancelled() => return,
                changed = log.changed() => if changed.is_err() { return },
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

/// The identity of a process within this boot.
fn process_id(process: &Process) -> (u32, Option<u64>) {
    (process.pid, process.started)
}

/// The sessions of Claude Code on this machine that are in a turn or show a dialog.
fn active_sessions(hub: &Hub, boot_id: &str) -> Vec<ActiveSession> {
    let found = hub.read(|state, _| {
        let all = state.sessions(None).filter(|(_, _, it)| it.has_hooks());
        let active = |(project, key, session): (&ProjectName, &InboxName, &Session)| {
            let info = session.info()?;
            let here = info.agent.as_deref() == Some("claude") && !session.is_headless();
            let process = info.process.clone().filter(|_| here)?;
            let known = process.started.is_some() && process.boot_id.as_deref() == Some(boot_id);
            known.then_some(())?;
            active_session(state, (project, key), session, process)
        };
        all.filter_map(active).collect()
    });
    found.unwrap_or_default()
}

fn active_session(
    state: &State,
    (project, key): (&ProjectName, &InboxName),
    session: &Session,
    process: Process,
) -> Option<ActiveSession> {
    let dialog = state.dialog_since(project, key);
    (dialog.is_some() || session.is_in_turn()).then(|| ActiveSession {
        key: (project.clone(), key.clone()),
        process,
        since: dialog.unwrap_or_default().max(session.ts),
        dialog,
    })
}

async fn poll(hub: &Hub, session: &ActiveSession, process: &mut TrackedProcess) {
    let Some(dir) = process.dir.clone() else {
        return;
    };
    let id = session.process.clone();
    let read = tokio::task::spawn_blocking(move || read(&dir, &id));
    let Ok(Ok(file)) = tokio::time::timeout(IO_TIMEOUT, read).await else {
        process.dir = None;
        return;
    };
    let Some(happened) = file.and_then(|file| unreported_event(session, &file, process)) else {
        return;
    };
    let hook = Hook {
        project: session.key.0.clone(),
        given: None,
        id: session.key.1.clone(),
        info: SessionInfo::default(),
        happened,
        event: Hook::SESSION_FILE.into(),
        watched: false,
        held: false,
        once: None,
    };
    if let Err(error) = hub.submit(Command::Hook(Box::new(hook))).await {
        tracing::warn!(%error, "an interrupted session could not be noted");
    }
}

/// The event that the file implies and no hook has reported: an interruption, or a dialog that was answered.
fn unreported_event(
    session: &ActiveSession,
    file: &SessionFile,
    process: &mut TrackedProcess,
) -> Option<AgentEvent> {
    let updated = Timestamp::from_millis(file.status_updated_at);
    if file.status != "idle" {
        process.idle = None;
        let answered = file.status == "busy" && session.dialog.is_some_and(|at| updated > at);
        return answered.then_some(AgentEvent::Worked);
    }
    let idle = process.idle.filter(|(turn, _)| *turn == session.since);
    let (turn, since) = idle.unwrap_or((session.since, Instant::now()));
    process.idle = Some((turn, since));
    (updated > turn || since.elapsed() >= IDLE_DELAY).then_some(AgentEvent::Interrupted)
}

/// The configuration directory of this Claude Code process, from its environment.
async fn config_dir(process: &Process) -> Option<PathBuf> {
    let process = process.clone();
    let found = tokio::task::spawn_blocking(move || {
        let environ = File::open(format!("/proc/{}/environ", process.pid)).ok()?;
        let mut variables = Vec::new();
        environ
            .take(MAX_ENVIRONMENT)
            .read_to_end(&mut variables)
            .ok()?;
        // The number may have been reused by another process; then these are not the session's variables.
        (start_ticks(process.pid) == process.started).then_some(())?;
        dir_of(&String::from_utf8_lossy(&variables))
    });
    tokio::time::timeout(IO_TIMEOUT, found).await.ok()?.ok()?
}

fn dir_of(variables: &str) -> Option<PathBuf> {
    let value = |name: &str| {
        let mut all = variables.split('\0').filter_map(|it| it.split_once('='));
        let found = all.find(|(found, value)| *found == name && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value))
    };
    let dir = value("CLAUDE_CONFIG_DIR").or_else(|| Some(value("HOME")?.join(".claude")))?;
    dir.is_absolute().then_some(dir)
}

/// Reads the session file of a process; `None` if there is none or it fails a check.
fn read(dir: &Path, process: &Process) -> Option<SessionFile> {
    let dir = UntrustedDir::open(dir, &["sessions"]).ok()?;
    let name = format!("{}.json", process.pid);
    let (_, content) = dir.read(&name, MAX_FILE + 1).ok()??;
    (content.len() <= MAX_FILE).then_some(())?;
    let file: SessionFile = serde_json::from_slice(&content).ok()?;
    // A killed process leaves its file behind, and its number may belong to another process now.
    let started = process.started.map(|it| it.to_string());
    let is_current = file.pid == process.pid
        && (file.proc_start.is_none() || file.proc_start == started)
        && start_ticks(process.pid) == process.started;
    is_current.then_some(file)
}

#[cfg(test)]
mod tests;
