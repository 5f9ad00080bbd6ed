//! The transports by which the hub wakes a session, and the choice between them.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use hub_core::wake_files::WakeFiles;
use hub_engine::{Hub, wake_text};
use hub_protocol::{FailedWay, OwnWords, Seq, Way};

use super::claude_inbox::{ClaudeInbox, ClaudeInboxes};
use super::codex::{CodexThread, CodexThreads};
use super::pane::PastePane;
use super::{LONGEST_WAIT, PushSession, PushedBatch, is_useful};
use hub_watch::claude_sessions;

/// Timeout of one use of a transport.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why a way is not used again.
const TRIED: &str =
    "the notifications were shown in this way before, and nothing proved that they arrived";
/// Why the hub cannot use its own ways.
const ELSEWHERE: &str = "the session's process runs on another machine";

/// A way to wake one session.
pub(super) enum Transport {
    /// The file that it watches.
    File(WakeFiles, Seq),
    /// Its socket for messages of other sessions.
    Inbox(ClaudeInbox),
    /// Its thread in Codex's app-server.
    Thread(CodexThread),
    /// Its tmux pane.
    Pane(Box<PastePane>),
}

impl Transport {
    pub(super) fn way(&self) -> Way {
        match self {
            Self::File(..) => Way::FileChanged,
            Self::Inbox(_) => Way::Socket,
            Self::Thread(_) => Way::AppServer,
            Self::Pane(_) => Way::Pane,
        }
    }

    /// How long to wait for further notifications after the first: a socket takes few messages, and each wake of a thread
    /// or a pane is a turn.
    pub(super) fn settle(&self) -> Duration {
        match self {
            Self::File(..) => Duration::ZERO,
            Self::Inbox(_) | Self::Pane(_) => Duration::from_millis(200),
            Self::Thread(_) => Duration::from_millis(50),
        }
    }

    /// How long one wait lasts. A better way than the pane may come at any time.
    pub(super) fn longest_wait(&self) -> Duration {
        match self {
            Self::Pane(_) => Duration::from_secs(5),
            _ => LONGEST_WAIT,
        }
    }

    /// Whether it can be used now. Only a pane may refuse; the session then shows why.
    pub(super) async fn is_ready(&self) -> bool {
        match self {
            Self::Pane(pane) => pane.is_ready().await,
            _ => true,
        }
    }

    /// The prompt that announces notifications, given as JSON.
    pub(super) fn announcement(&self, notifications: &[Bytes]) -> OwnWords {
        match self {
            Self::Pane(_) => OwnWords::of(wake_text::PASTED),
            _ => wake_text::prompt(notifications),
        }
    }

    /// Wakes the session with `prompt`, which announces the notifications or contains them.
    pub(super) async fn wake(&self, prompt: &str, batch: &PushedBatch) -> io::Result<()> {
        let woken = async {
            match self {
                Self::File(files, number) => change(files.clone(), *number).await,
                Self::Inbox(inbox) => inbox.send(prompt, batch).await,
                Self::Thread(thread) => thread.wake(prompt).await,
                Self::Pane(pane) => pane.wake().await,
            }
        };
        tokio::time::timeout(TIMEOUT, woken).await?
    }

    /// The step that may be repeated.
    pub(super) fn second(&self) -> Option<Second> {
        match self {
            Self::File(files, number) => Some(Second::File(files.clone(), *number)),
            Self::Pane(pane) => Some(Second::Pane(pane.clone())),
            Self::Inbox(_) | Self::Thread(_) => None,
        }
    }
}

/// The step that is repeated when a wake had no effect. It cannot begin a second turn.
pub(super) enum Second {
    /// The file is changed again.
    File(WakeFiles, Seq),
    /// Enter is pressed again, for the line that may still be in the pane's input.
    Pane(Box<PastePane>),
}

impl Second {
    pub(super) async fn wake(self) -> io::Result<()> {
        match self {
            Self::File(files, number) => change(files, number).await,
            Self::Pane(pane) => pane.press_enter().await,
        }
    }
}

async fn change(files: WakeFiles, number: Seq) -> io::Result<()> {
    tokio::task::spawn_blocking(move || files.change(number)).await?
}

/// The best transport that the session has and that can deliver something. If there is none: each way that was
/// considered, and why it cannot be used.
pub(super) async fn choose(
    hub: &Hub,
    inboxes: &ClaudeInboxes,
    threads: &CodexThreads,
    candidate: &PushSession,
) -> Result<Transport, Vec<FailedWay>> {
    if candidate.is_elsewhere {
        let ways = candidate.agent.facts().ways.iter();
        let own = ways.filter(|it| it.is_pushed() && **it != Way::Pane);
        return Err(own.map(|way| failed(*way, ELSEWHERE)).collect());
    }
    let agent = candidate.agent.facts();
    let own = if agent.has(Way::FileChanged) {
        of_claude(hub, inboxes, candidate).await
    } else if agent.has(Way::AppServer) {
        of_codex(threads, candidate).await
    } else {
        Err(Vec::new())
    };
    let mut ways = match own {
        Ok(transport) => return Ok(transport),
        Err(failed) => failed,
    };
    if !needs_pane(candidate) || has_other_way(threads, candidate).await {
        return Err(ways);
    }
    match PastePane::of(hub, candidate) {
        Ok(pane) => Ok(Transport::Pane(Box::new(pane))),
        Err(why) => {
            ways.push(failed(Way::Pane, why));
            Err(ways)
        }
    }
}

/// Whether something is pending for a session in a pane.
fn needs_pane(candidate: &PushSession) -> bool {
    !candidate.pending.is_empty() && candidate.pane.is_some() && !candidate.is_headless
}

/// Whether the session has another way that has not failed, although it takes nothing at this moment.
async fn has_other_way(threads: &CodexThreads, candidate: &PushSession) -> bool {
    let can = |way| candidate.agent.facts().has(way) && is_useful(way, candidate);
    if can(Way::Socket) && !candidate.bypasses {
        return match &candidate.process {
            Some(process) => claude_sessions::messaging_socket(process).await.is_some(),
            None => false,
        };
    }
    can(Way::AppServer) && threads.has(&candidate.key)
}

async fn of_codex(
    threads: &CodexThreads,
    candidate: &PushSession,
) -> Result<Transport, Vec<FailedWay>> {
    if !is_useful(Way::AppServer, candidate) {
        // Without hooks, nothing can prove a delivery.
        let untrusted = threads.untrusted_hooks(candidate).await;
        let hooks = untrusted.map(|why| failed(Way::Hook, why));
        return Err([failed(Way::AppServer, TRIED)]
            .into_iter()
            .chain(hooks)
            .collect());
    }
    let found = threads.find(candidate).await;
    found
        .map(Transport::Thread)
        .map_err(|why| vec![failed(Way::AppServer, why)])
}

async fn of_claude(
    hub: &Hub,
    inboxes: &ClaudeInboxes,
    candidate: &PushSession,
) -> Result<Transport, Vec<FailedWay>> {
    let file = match wake_file(hub, candidate).await {
        Ok(file) => return Ok(file),
        Err(why) => failed(Way::FileChanged, why),
    };
    match inbox(inboxes, candidate).await {
        Ok(inbox) => Ok(inbox),
        Err(why) => Err(vec![file, failed(Way::Socket, why)]),
    }
}

async fn wake_file(hub: &Hub, candidate: &PushSession) -> Result<Transport, &'static str> {
    if !is_useful(Way::FileChanged, candidate) {
        return Err(TRIED);
    }
    let (files, number) = (hub.wake_files().clone(), candidate.number);
    let file = Transport::File(files.clone(), number);
    let exists = tokio::task::spawn_blocking(move || files.exists(number));
    match exists.await {
        Ok(true) => Ok(file),
        _ => Err("the session watches no file of the hub"),
    }
}

async fn inbox(
    inboxes: &ClaudeInboxes,
    candidate: &PushSession,
) -> Result<Transport, &'static str> {
    if !is_useful(Way::Socket, candidate) {
        return Err(TRIED);
    }
    if candidate.bypasses {
        return Err("Claude Code holds messages of others in a mode that may allow everything");
    }
    let process = candidate.process.as_ref();
    let process = process.ok_or("the session's process is not known")?;
    inboxes.find(process).await.map(Transport::Inbox)
}

fn failed(way: Way, why: impl Into<String>) -> FailedWay {
    let why = why.into();
    FailedWay { way, why }
}
