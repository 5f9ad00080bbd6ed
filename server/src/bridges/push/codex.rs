//! The threads of Codex, woken through its [`app_server`].

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use hub_protocol::{InboxName, Seq};
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

/// The threads of all sessions.
pub(super) struct CodexThreads {
    hub: Hub,
    /// The threads that could not be woken, each with the record of its session's state and the time of the next try.
    refused: Mutex<HashMap<SessionKey, (Seq, Instant)>>,
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
        let is_early = |(seq, at): (Seq, Instant)| seq == candidate.seq && Instant::now() < at;
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
        let retry = match thread.idle().await {
            Ok(_) => {
                lock(&self.refused).remove(key);
                return Some(thread);
            }
            Err(PushError::Busy) => RETRY_BUSY,
            Err(_) => RETRY,
        };
        let next = (candidate.seq, Instant::now() + retry);
        lock(&self.refused).insert(key.clone(), next);
        None
    }

    /// When to try a session's thread again that could not be woken.
    pub(super) fn next_try(&self, key: &SessionKey) -> Option<Instant> {
        lock(&self.refused).get(key).map(|(_, at)| *at)
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
        waiters.activity().note_unreachable(self.key.clone(), why);
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
