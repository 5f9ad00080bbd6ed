//! The threads of Codex, woken through its [`app_server`].

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use hub_core::command::{AgentEvent, Command, Hook};
use hub_core::fold::SessionKey;
use hub_core::sync::lock;
use hub_engine::Hub;
use hub_protocol::{InboxName, Seq, Timestamp, Way};
use tokio::time::Instant;

use super::{PushSession, RETRY};
use hub_watch::process_env;

mod app_server;

use app_server::{IdleThread, PushError};

/// When a thread in a turn is tried again: the turn ends some milliseconds after its `Stop` hook.
const RETRY_BUSY: Duration = Duration::from_millis(50);

/// How often a dialog is looked at while it is shown.
const DIALOG: Duration = Duration::from_millis(500);
/// A dialog is shown at the latest so long after its hook was reported, if the hub does not hold that; in milliseconds.
const SHOWN_BY_MS: i64 = 5_000;

/// Why there is no thread of a session.
const NO_PROCESS: &str = "the session's process is not known";

/// The threads of all sessions.
pub(super) struct CodexThreads {
    hub: Hub,
    /// The threads that could not be woken.
    refused: Mutex<HashMap<SessionKey, Refused>>,
    /// The sessions whose dialogs are shown, each with the record that had reported it.
    dialogs: Mutex<HashMap<SessionKey, Seq>>,
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
            dialogs: Mutex::default(),
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

    /// Looks whether the dialog of a session is still shown, because no hook reports the person's decision before the command
    /// ends. Returns when to look again.
    pub(super) async fn watch_dialog(&self, candidate: &PushSession) -> Option<Instant> {
        let socket = socket(candidate).await?;
        let shown = app_server::shows_dialog(&socket, candidate.agent_id.as_str()).await;
        match shown {
            Ok(shown) if self.has_decided(candidate, shown) => {
                self.note_decision(candidate).await;
                None
            }
            // An app-server that is busy answers later.
            Ok(_) | Err(PushError::Unavailable(_)) => Some(Instant::now() + DIALOG),
            Err(_) => None,
        }
    }

    /// Whether the dialog was shown before and is not any more. One that nobody has seen may follow the hook that the hub
    /// holds; without such a hook, it was decided before the first look.
    fn has_decided(&self, candidate: &PushSession, shown: bool) -> bool {
        let mut dialogs = lock(&self.dialogs);
        if shown {
            dialogs.insert(candidate.key.clone(), candidate.seq);
            return false;
        }
        let was_shown = dialogs.remove(&candidate.key) == Some(candidate.seq);
        let before = Timestamp::now().plus_millis(-SHOWN_BY_MS);
        let is_due = candidate.dialog_since.is_some_and(|it| it < before);
        was_shown || is_due && !candidate.holds_dialog
    }

    /// Notes that the person has decided, so that the turn goes on.
    async fn note_decision(&self, candidate: &PushSession) {
        let (key, worked) = (candidate.key.clone(), AgentEvent::Worked);
        let decided = Hook {
            shares_process: true,
            ..Hook::derived(key, worked, Hook::APP_SERVER, candidate.seq)
        };
        if let Err(error) = self.hub.submit(Command::Hook(Box::new(decided))).await {
            tracing::warn!(%error, "the end of a dialog could not be noted");
        }
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
        lock(&self.dialogs).retain(|key, _| is_alive(key));
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
