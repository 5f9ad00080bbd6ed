//! The bridge for Claude Code's session files, which say whether a session is idle, busy or shows a dialog.
//!
//! Hooks do not report everything: none runs when Escape ends a turn or leaves a dialog, when a dialog is answered until
//! the tool has run, or when a hook fails. So for each session of this machine that the hub knows by its hooks, the
//! bridge also reads `CONFIG_DIR/sessions/PID.json` when the directory changes. [`session_file`] describes the file,
//! [`evidence`] the rule that decides between file and hooks.
//!
//! The file is not trusted: it must be the file of the session's own process (its number and its start time) and of the
//! session's id, small, the hub user's own, and not a link. It can change only a session that the hub knows, and proves
//! no delivery. The end of a killed process is seen by [`super::local_sessions`], from the process itself.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hub_core::command::{AgentEvent, Command, Hook};
use hub_core::fold::{Session, State};
use hub_core::waiters::SharedWaiters;
use hub_engine::Hub;
use hub_protocol::process::boot_id;
use hub_protocol::{InboxName, Process, ProjectName, SessionState, Timestamp};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::dir_watcher::DirWatcher;
use super::local_sessions::{ProcessId, process_id};
use super::process_env;
use super::status_files::StatusFiles;

mod evidence;
mod session_file;

use evidence::{Difference, KnownSession, unreported_event};
use session_file::{Ignored, SessionFile};

/// Delay from a change of a directory to the reads, so that files are complete.
const DEBOUNCE: Duration = Duration::from_millis(10);

/// Delay from a change of the log to the reads, because most changes concern other things.
const LOG_DEBOUNCE: Duration = Duration::from_millis(250);

/// Read interval while a file differs from the hub's state; below, while a session is in a turn or shows a dialog,
/// because the system may drop events or run out of watches.
const DIFFERENCE_INTERVAL: Duration = Duration::from_millis(250);
const ACTIVE_INTERVAL: Duration = Duration::from_secs(1);

/// Timeout of the file system. After a timeout the bridge does not read this process's file again.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

/// A process whose session file is read.
#[derive(Debug, Default)]
struct TrackedProcess {
    /// Claude Code's configuration directory; `None` if it was not found or does not answer.
    dir: Option<PathBuf>,
    difference: Option<Difference>,
    /// Whether the log says why its file is ignored.
    warned: bool,
}

/// The files of all known sessions.
struct SessionFiles {
    hub: Hub,
    watcher: Arc<DirWatcher>,
    changed: Arc<Notify>,
    processes: HashMap<ProcessId, TrackedProcess>,
    /// The watched directories of session files.
    watched: HashSet<PathBuf>,
}

/// Submits an event for each change that no hook reports, until `shutdown`.
pub async fn watch(hub: Hub, status_files: StatusFiles, shutdown: CancellationToken) {
    let Some(boot_id) = boot_id() else { return };
    let mut log = hub.log().subscribe();
    let changed = Arc::new(Notify::new());
    let mut files = SessionFiles {
        hub: hub.clone(),
        watcher: Arc::clone(status_files.watcher()),
        changed: Arc::clone(&changed),
        processes: HashMap::new(),
        watched: HashSet::new(),
    };
    loop {
        let sessions = known_sessions(&hub, &boot_id).await;
        files.track(&sessions).await;
        for session in &sessions {
            files.poll(session).await;
        }
        let next_read = async {
            match files.read_interval(&sessions) {
                Some(interval) => tokio::time::sleep(interval).await,
                None => std::future::pending().await,
            }
        };
        let log_changed = async {
            let is_open = log.changed().await.is_ok();
            tokio::time::sleep(LOG_DEBOUNCE).await;
            is_open
        };
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = changed.notified() => tokio::time::sleep(DEBOUNCE).await,
            is_open = log_changed => if !is_open { return },
            () = next_read => {}
        }
    }
}

/// The sessions of Claude Code on this machine that their hooks have reported.
async fn known_sessions(hub: &Hub, boot_id: &str) -> Vec<KnownSession> {
    let boot_id = boot_id.to_owned();
    let found = hub.list(move |state, waiters| {
        let all = state
            .sessions
            .iter(None)
            .filter(|(_, _, it)| it.has_hooks());
        let known = |(project, key, session): (&ProjectName, &InboxName, &Session)| {
            let info = session.info()?;
            let here = info.agent.as_deref() == Some("claude") && !session.is_headless();
            let process = info.process.clone().filter(|_| here)?;
            let known = process.started.is_some() && process.boot_id.as_ref() == Some(&boot_id);
            known.then(|| known_session((state, waiters), (project, key), session, process))
        };
        all.filter_map(known).collect()
    });
    found.await.unwrap_or_default()
}

fn known_session(
    (state, waiters): (&State, &SharedWaiters),
    (project, key): (&ProjectName, &InboxName),
    session: &Session,
    process: Process,
) -> KnownSession {
    let place = (project.clone(), key.clone());
    let form = waiters.read().form(&place);
    let form = form.and_then(|id| state.questions.get(id));
    let dialog = state.questions.dialog_since(project, key);
    KnownSession {
        key: place,
        process,
        seq: session.seq,
        form_until: form.map(|it| it.settled_at.unwrap_or(Timestamp::from_millis(i64::MAX))),
        since: dialog.unwrap_or_default().max(session.ts),
        in_turn: session.is_in_turn(),
        blocked: session.state == Some(SessionState::Blocked),
        dialog,
    }
}

impl SessionFiles {
    /// Finds and watches the directories of new processes, and forgets those that are gone.
    async fn track(&mut self, sessions: &[KnownSession]) {
        let ids: HashSet<ProcessId> = sessions.iter().map(|it| process_id(&it.process)).collect();
        self.processes.retain(|id, _| ids.contains(id));
        for session in sessions {
            let id = process_id(&session.process);
            if let Entry::Vacant(new) = self.processes.entry(id) {
                let dir = config_dir(&session.process).await;
                new.insert(TrackedProcess {
                    dir,
                    ..TrackedProcess::default()
                });
            }
        }
        let dirs = self.processes.values().filter_map(|it| it.dir.as_ref());
        let dirs: HashSet<PathBuf> = dirs.map(|it| it.join(session_file::DIRECTORY)).collect();
        for gone in self.watched.difference(&dirs) {
            self.watcher.unsubscribe(gone);
            let _ = self.watcher.watch(None, Some(gone));
        }
        self.watched.retain(|it| dirs.contains(it));
        for dir in dirs {
            if !self.watched.contains(&dir) && self.start_watch(&dir).await {
                self.watched.insert(dir);
            }
        }
    }

    /// Watches a directory; false if that failed, so that it is tried again.
    async fn start_watch(&self, dir: &Path) -> bool {
        let (watcher, path) = (Arc::clone(&self.watcher), dir.to_owned());
        let watch = tokio::task::spawn_blocking(move || watcher.watch(Some(&path), None).is_ok());
        let is_watched = matches!(tokio::time::timeout(IO_TIMEOUT, watch).await, Ok(Ok(true)));
        if is_watched {
            self.watcher.subscribe(dir.to_owned(), None, &self.changed);
        }
        is_watched
    }

    /// The time until the next read, without a change before; `None` if only a change can matter.
    fn read_interval(&self, sessions: &[KnownSession]) -> Option<Duration> {
        let active = sessions.iter().any(KnownSession::is_active);
        let differs = self.processes.values().any(|it| it.difference.is_some());
        if differs {
            Some(DIFFERENCE_INTERVAL)
        } else {
            active.then_some(ACTIVE_INTERVAL)
        }
    }

    /// Reads a session's file, and submits the event that it implies.
    async fn poll(&mut self, session: &KnownSession) {
        let id = process_id(&session.process);
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        let Some(file) = process.read(&session.process).await else {
            process.difference = None;
            return;
        };
        if !is_of(&self.hub, &file, session) {
            process.difference = None;
            return;
        }
        let now = Timestamp::now();
        let event = unreported_event(session, &file, now, &mut process.difference);
        if let Some(happened) = event {
            submit(&self.hub, session, happened).await;
        }
    }
}

impl TrackedProcess {
    /// Reads the process's file; `None` if it is ignored. The log says once why.
    async fn read(&mut self, process: &Process) -> Option<SessionFile> {
        let dir = self.dir.clone()?;
        let (path, id) = (dir.clone(), process.clone());
        let read = tokio::task::spawn_blocking(move || session_file::read(&path, &id));
        let Ok(Ok(read)) = tokio::time::timeout(IO_TIMEOUT, read).await else {
            self.dir = None;
            return None;
        };
        if let Err(Ignored::Refused(why)) = &read
            && !std::mem::replace(&mut self.warned, true)
        {
            let file = dir.join(session_file::DIRECTORY);
            let file = file.join(session_file::name_of(process));
            tracing::warn!(file = %file.display(), why, "a session file is ignored");
        }
        read.ok()
    }
}

/// The socket on which a process takes messages of other sessions; `None` if it has none, or its file is ignored.
pub async fn messaging_socket(process: &Process) -> Option<PathBuf> {
    let dir = config_dir(process).await?;
    let process = process.clone();
    let read = tokio::task::spawn_blocking(move || session_file::read(&dir, &process).ok());
    let file = tokio::time::timeout(IO_TIMEOUT, read).await.ok()?.ok()??;
    file.messaging_socket_path.filter(|path| path.is_absolute())
}

/// Whether the file is about this session: its id may have changed, or the hub may not know the new one yet.
fn is_of(hub: &Hub, file: &SessionFile, session: &KnownSession) -> bool {
    let Some(id) = &file.session_id else {
        return true;
    };
    let Ok(id) = id.parse::<InboxName>() else {
        return false;
    };
    let key = hub.read(|state, _| state.sessions.find_key(&session.key.0, &id));
    key.is_ok_and(|key| key.as_ref() == Some(&session.key))
}

async fn submit(hub: &Hub, session: &KnownSession, happened: AgentEvent) {
    let hook = Hook::derived(
        session.key.clone(),
        happened,
        Hook::SESSION_FILE,
        session.seq,
    );
    if let Err(error) = hub.submit(Command::Hook(Box::new(hook))).await {
        tracing::warn!(%error, "the state of a session file could not be noted");
    }
}

/// The configuration directory of this Claude Code process.
async fn config_dir(process: &Process) -> Option<PathBuf> {
    process_env::directory(process, "CLAUDE_CONFIG_DIR", ".claude").await
}

#[cfg(test)]
mod tests;
