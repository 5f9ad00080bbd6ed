//! The transports by which the hub wakes a session, and the choice between them.

use std::io;
use std::time::Duration;

use hub_protocol::{Agent, Seq, Way};

use super::claude_inbox::{ClaudeInbox, ClaudeInboxes};
use super::codex::{CodexThread, CodexThreads};
use super::{PushSession, is_useful};
use crate::core::wake_files::WakeFiles;
use crate::hub::Hub;

/// Timeout of one use of a transport.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A way to wake one session.
pub(super) enum Transport {
    /// The file that it watches.
    File(WakeFiles, Seq),
    /// Its socket for messages of other sessions.
    Inbox(ClaudeInbox),
    /// Its thread in Codex's app-server.
    Thread(CodexThread),
}

impl Transport {
    pub(super) fn way(&self) -> Way {
        match self {
            Self::File(..) => Way::FileChanged,
            Self::Inbox(_) => Way::Socket,
            Self::Thread(_) => Way::AppServer,
        }
    }

    /// How long to wait for further notifications after the first: a socket takes few messages, and each wake of a thread
    /// is a turn.
    pub(super) fn settle(&self) -> Duration {
        match self {
            Self::File(..) => Duration::ZERO,
            Self::Inbox(_) => Duration::from_millis(200),
            Self::Thread(_) => Duration::from_millis(50),
        }
    }

    /// Wakes the session with `prompt`, which announces the notifications or contains them.
    pub(super) async fn wake(&self, prompt: &str) -> io::Result<()> {
        let woken = async {
            match self {
                Self::File(files, number) => {
                    let (files, number) = (files.clone(), *number);
                    tokio::task::spawn_blocking(move || files.change(number)).await?
                }
                Self::Inbox(inbox) => inbox.send(prompt).await,
                Self::Thread(thread) => thread.wake(prompt).await,
            }
        };
        tokio::time::timeout(TIMEOUT, woken).await?
    }
}

/// The best transport that the session has and that can deliver something; `None` if there is none.
pub(super) async fn choose(
    hub: &Hub,
    inboxes: &ClaudeInboxes,
    threads: &CodexThreads,
    candidate: &PushSession,
) -> Option<Transport> {
    match candidate.agent {
        Agent::Claude => of_claude(hub, inboxes, candidate).await,
        Agent::Codex if is_useful(Way::AppServer, candidate) => {
            threads.find(candidate).await.map(Transport::Thread)
        }
        _ => None,
    }
}

async fn of_claude(
    hub: &Hub,
    inboxes: &ClaudeInboxes,
    candidate: &PushSession,
) -> Option<Transport> {
    let number = candidate.number;
    if is_useful(Way::FileChanged, candidate) {
        let files = hub.wake_files().clone();
        let file = Transport::File(files.clone(), number);
        let exists = tokio::task::spawn_blocking(move || files.exists(number));
        if exists.await.unwrap_or(false) {
            return Some(file);
        }
    }
    // In this mode Claude Code holds messages of others until the person allows each.
    if !is_useful(Way::Socket, candidate) || candidate.bypasses {
        return None;
    }
    let process = candidate.process.as_ref()?;
    inboxes.find(process).await.map(Transport::Inbox)
}
