//! The bridge for Claude Code's session files, which say whether a session is idle, busy or shows a dialog.
//!
//! Hooks report everything except Escape: it ends a turn or leaves a dialog, and no hook runs. So while a session of
//! this machine is in a turn or shows a dialog, the bridge also reads `CONFIG_DIR/sessions/PID.json`. It does not trust
//! the file: the process must be the session's, and the file must be small, the hub user's own, and not a link.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hub_protocol::{InboxName, Process, ProjectName, SessionInfo, Timestamp};
use rustix::fs::{Mode, OFlags, open, openat};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::local_sessions::{boot_id, start_of};
use crate::core::command::{AgentEvent, Command, Hook};
use crate::fold::{Session, SessionKey, State};
use crate::hub::Hub;

/// Poll interval while a session is in a turn or shows a dialog.
const LOOK: Duration = Duration::from_millis(250);

/// A file that calls a session idle although its turn began later is believed after this delay, because it may be
/// written late.
const SETTLED: Duration = Duration::from_secs(2);

/// Timeout of the file system. After a timeout the bridge does not read this process's file again.
const PATIENCE: Duration = Duration::from_secs(2);

/// Largest session file in bytes; below, the largest environment.
const MAX_FILE: u64 = 64 * 1024;
const MAX_ENVIRONMENT: u64 = 4 * 1024 * 1024;

/// A session in a turn or a dialog, which Escape may end.
#[derive(Debug, Clone)]
struct Active {
    place: SessionKey,
    process: Process,
    /// The start of its turn, or of its dialog.
    since: Timestamp,
    dialog: Option<Timestamp>,
}

/// The bridge's memory of one process.
#[derive(Debug, Default)]
struct Known {
    /// Claude Code's configuration directory; `None` if it was not found or does not answer.
    dir: Option<PathBuf>,
    /// The turn in which the file says idle, by the turn's start, and when the bridge first read that.
    idle: Option<(Timestamp, Instant)>,
}

/// The content of a session file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
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
        let active = active(hub, &boot_id);
        processes.retain(|process, _| active.iter().any(|it| id_of(&it.process) == *process));
        for session in &active {
            let id = id_of(&session.process);
            if let Entry::Vacant(unknown) = processes.entry(id) {
                let dir = config_dir(&session.process).await;
                unknown.insert(Known { dir, idle: None });
            }
            if let Some(known) = processes.get_mut(&id) {
                look(hub, session, known).await;
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
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// The identity of a process within this boot.
fn id_of(process: &Process) -> (u32, Option<u64>) {
    (process.pid, process.started)
}

/// The sessions of Claude Code on this machine that are in a turn or show a dialog.
fn active(hub: &Hub, boot_id: &str) -> Vec<Active> {
    let found = hub.read(|state, _| {
        let all = state.sessions(None).filter(|(_, _, it)| it.has_hooks());
        let active = |(project, key, session): (&ProjectName, &InboxName, &Session)| {
            let info = session.info()?;
            let here = info.agent.as_deref() == Some("claude") && !session.is_headless();
            let process = info.process.clone().filter(|_| here)?;
            let known = process.started.is_some() && process.boot_id.as_deref() == Some(boot_id);
            known.then_some(())?;
            of(state, (project, key), session, process)
        };
        all.filter_map(active).collect()
    });
    found.unwrap_or_default()
}

fn of(
    state: &State,
    (project, key): (&ProjectName, &InboxName),
    session: &Session,
    process: Process,
) -> Option<Active> {
    let dialog = state.dialog_since(project, key);
    (dialog.is_some() || session.is_in_turn()).then(|| Active {
        place: (project.clone(), key.clone()),
        process,
        since: dialog.unwrap_or_default().max(session.ts),
        dialog,
    })
}

async fn look(hub: &Hub, session: &Active, known: &mut Known) {
    let Some(dir) = known.dir.clone() else { return };
    let process = session.process.clone();
    let read = tokio::task::spawn_blocking(move || read(&dir, &process));
    let Ok(Ok(told)) = tokio::time::timeout(PATIENCE, read).await else {
        known.dir = None;
        return;
    };
    let Some(happened) = told.and_then(|told| happened(session, &told, known)) else {
        return;
    };
    let hook = Hook {
        project: session.place.0.clone(),
        given: None,
        id: session.place.1.clone(),
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
fn happened(session: &Active, told: &Told, known: &mut Known) -> Option<AgentEvent> {
    let updated = Timestamp::from_millis(told.status_updated_at);
    if told.status != "idle" {
        known.idle = None;
        let answered = told.status == "busy" && session.dialog.is_some_and(|at| updated > at);
        return answered.then_some(AgentEvent::Worked);
    }
    let idle = known.idle.filter(|(turn, _)| *turn == session.since);
    let (turn, since) = idle.unwrap_or((session.since, Instant::now()));
    known.idle = Some((turn, since));
    (updated > turn || since.elapsed() >= SETTLED).then_some(AgentEvent::Interrupted)
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
        (start_of(process.pid) == process.started).then_some(())?;
        dir_of(&String::from_utf8_lossy(&variables))
    });
    tokio::time::timeout(PATIENCE, found).await.ok()?.ok()?
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
fn read(dir: &Path, process: &Process) -> Option<Told> {
    let content = content(dir, &format!("{}.json", process.pid)).ok()?;
    let told: Told = serde_json::from_slice(&content).ok()?;
    // A killed process leaves its file behind, and its number may belong to another process now.
    let started = process.started.map(|it| it.to_string());
    let is_its = told.pid == process.pid
        && (told.proc_start.is_none() || told.proc_start == started)
        && start_of(process.pid) == process.started;
    is_its.then_some(told)
}

fn content(dir: &Path, name: &str) -> io::Result<Vec<u8>> {
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = open(dir, directory, Mode::empty())?;
    let sessions = openat(dir, "sessions", directory | OFlags::NOFOLLOW, Mode::empty())?;
    // Without NONBLOCK, a pipe in place of the file would block the thread for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(sessions, name, flags, Mode::empty())?);
    let meta = file.metadata()?;
    let ours = meta.uid() == rustix::process::geteuid().as_raw();
    if !meta.is_file() || !ours || meta.len() > MAX_FILE {
        return Err(io::Error::other("not a session's file"));
    }
    let mut content = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests;
