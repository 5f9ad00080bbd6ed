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

/// Why there is no thread of a session.
const NO_PROCESS: &str = "the session's process is not known";

/// The threads of all sessions.
pub(super) struct CodexThreads {
    hub: Hub,
    /// The threads that could not be woken.
    refused: Mutex<HashMap<SessionKey, Refused>>,
    /// Why Codex does not run the hub's hooks, and until when that answer counts.
    trust: Mutex<HashMap<SessionKey, (Instant, Option<String>)>>,
}

/// A thread that could not be woken.
struct Refused {
    /// The record that had reported its session's state.
    seq: Seq,
    /// The time of the next try.
    until: Instant,
    why: String,
    /// Whether the app-server has the thread.
    exists: bool,
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
            trust: Mutex::default(),
        }
    }

    /// Finds a session's thread; or returns why it cannot be woken now. The session then shows why.
    pub(super) async fn find(&self, candidate: &PushSession) -> Result<CodexThread, String> {
        let key = &candidate.key;
        let is_early = |it: &Refused| it.seq == candidate.seq && Instant::now() < it.until;
        if let Some(before) = lock(&self.refused).get(key).filter(|it| is_early(it)) {
            return Err(before.why.clone());
        }
        if candidate.is_headless {
            return Err("it answers one prompt and ends".into());
        }
        let socket = socket(candidate).await;
        let thread = CodexThread {
            hub: self.hub.clone(),
            key: key.clone(),
            id: candidate.agent_id.clone(),
            socket: socket.ok_or(NO_PROCESS)?,
        };
        let Err(error) = thread.idle().await else {
            lock(&self.refused).remove(key);
            return Ok(thread);
        };
        let retry = match error {
            PushError::Busy => RETRY_BUSY,
            _ => RETRY,
        };
        let refused = Refused {
            seq: candidate.seq,
            until: Instant::now() + retry,
            why: error.to_string(),
            exists: !matches!(error, PushError::NotRunning | PushError::NotLoaded),
        };
        lock(&self.refused).insert(key.clone(), refused);
        Err(error.to_string())
    }

    /// Returns why Codex does not run the hub's hooks in this session; `None` if it does, or if it does not tell.
    pub(super) async fn untrusted_hooks(&self, candidate: &PushSession) -> Option<String> {
        let known = lock(&self.trust).get(&candidate.key).cloned();
        if let Some((_, why)) = known.filter(|(until, _)| Instant::now() < *until) {
            return why;
        }
        let why = async {
            let socket = socket(candidate).await?;
            app_server::untrusted_hooks(&socket, candidate.cwd.as_deref()?).await
        };
        let why = why.await;
        let until = Instant::now() + RETRY;
        lock(&self.trust).insert(candidate.key.clone(), (until, why.clone()));
        why
    }

    /// Whether the app-server has the session's thread, as far as the last try showed.
    pub(super) fn has(&self, key: &SessionKey) -> bool {
        lock(&self.refused).get(key).is_some_and(|it| it.exists)
    }

    /// When to try a session's thread again that could not be woken.
    pub(super) fn next_try(&self, key: &SessionKey) -> Option<Instant> {
        lock(&self.refused).get(key).map(|it| it.until)
    }

    /// Forgets sessions that have ended.
    pub(super) fn retain(&self, is_alive: impl Fn(&SessionKey) -> bool) {
        lock(&self.refused).retain(|key, _| is_alive(key));
        lock(&self.trust).retain(|key, _| is_alive(key));
    }
}

/// The socket of the app-server that runs a session.
async fn socket(candidate: &PushSession) -> Option<PathBuf> {
    let process = candidate.process.as_ref()?;
    let home = process_env::directory(process, "CODEX_HOME", ".codex").await?;
    Some(home.join(app_server::SOCKET))
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
