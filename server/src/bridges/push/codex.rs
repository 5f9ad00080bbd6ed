//! The threads of Codex, woken through its [`app_server`].

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use hub_protocol::{InboxName, Seq, Way};
use tokio::time::Instant;

use super::PushSession;
use crate::bridges::process_env;
use crate::core::sync::lock;
use crate::fold::SessionKey;
use crate::hub::Hub;

mod app_server;

use app_server::{IdleThread, PushError};

/// When a thread that cannot be woken is tried again, unless its session's state changes.
const RETRY: Duration = Duration::from_secs(15);

/// When a thread in a turn is tried again: the turn ends some milliseconds after its `Stop` hook.
const RETRY_BUSY: Duration = Duration::from_millis(50);

/// A thread that could not be woken.
#[derive(Debug, Clone, Copy)]
struct Refused {
    /// The record of its session's state.
    seq: Seq,
    /// The time of the next try.
    next: Instant,
    /// Whether the app-server has the thread.
    exists: bool,
}

/// The threads of all sessions.
pub(super) struct CodexThreads {
    hub: Hub,
    refused: Mutex<HashMap<SessionKey, Refused>>,
}

/// The thread of one session.
pub(super) struct CodexThread {
    hub: Hub,
    key: SessionKey,
    id: InboxName,
    socket: PathBuf,
}

impl CodexThreads {
    pub(super) fn new(hub: &Hub) -> Self {
        Self {
            hub: hub.clone(),
            refused: Mutex::default(),
        }
    }

    /// Finds a session's thread; `None` if it cannot be woken now. The session then shows why.
    pub(super) async fn find(&self, candidate: &PushSession) -> Option<CodexThread> {
        let key = &candidate.key;
        let before = lock(&self.refused).get(key).copied();
        let is_early = |it: Refused| it.seq == candidate.seq && Instant::now() < it.next;
        if candidate.is_headless || before.is_some_and(is_early) {
            return None;
        }
        let process = candidate.process.as_ref()?;
        let home = process_env::directory(process, "CODEX_HOME", ".codex").await?;
        let thread = CodexThread {
            hub: self.hub.clone(),
            key: key.clone(),
            id: candidate.agent_id.clone(),
            socket: home.join(app_server::SOCKET),
        };
        let Err(error) = thread.idle().await else {
            lock(&self.refused).remove(key);
            return Some(thread);
        };
        let retry = match error {
            PushError::Busy => RETRY_BUSY,
            _ => RETRY,
        };
        let refused = Refused {
            seq: candidate.seq,
            next: Instant::now() + retry,
            exists: !matches!(error, PushError::NotRunning | PushError::NotLoaded),
        };
        lock(&self.refused).insert(key.clone(), refused);
        None
    }

    /// Whether the app-server has the session's thread, as far as the last try showed.
    pub(super) fn has(&self, key: &SessionKey) -> bool {
        lock(&self.refused).get(key).is_some_and(|it| it.exists)
    }

    /// When to try a session's thread again that could not be woken.
    pub(super) fn next_try(&self, key: &SessionKey) -> Option<Instant> {
        lock(&self.refused).get(key).map(|it| it.next)
    }

    /// Forgets sessions that have ended.
    pub(super) fn retain(&self, is_alive: impl Fn(&SessionKey) -> bool) {
        lock(&self.refused).retain(|key, _| is_alive(key));
    }
}

impl CodexThread {
    /// Checks that the thread can be woken, and notes for people why it cannot.
    async fn idle(&self) -> Result<IdleThread, PushError> {
        let idle = IdleThread::find(&self.socket, self.id.as_str()).await;
        let error = idle.as_ref().err();
        let why = error.filter(|it| **it != PushError::Busy);
        let why = why.map(ToString::to_string);
        let mut waiters = self.hub.waiters().write();
        let key = self.key.clone();
        waiters
            .activity()
            .note_unreachable(key, Way::AppServer, why);
        idle
    }

    /// Starts a turn with this prompt.
    pub(super) async fn wake(&self, prompt: &str) -> io::Result<()> {
        let started = match self.idle().await {
            Ok(thread) => thread.start_turn(prompt).await,
            Err(error) => Err(error),
        };
        started.map_err(io::Error::other)
    }
}
