//! The sockets on which sessions of Claude Code take messages of each other, and the hub's own socket beside them.
//!
//! As recorded from Claude Code 2.1.330, `tests/agents/push.rs` checks it. A session's file in `sessions` names its socket
//! (`messagingSocketPath`). A message is one line of JSON: `{"msgV": 1, "type": "user", "message": {"role": "user",
//! "content": TEXT}, "from": "uds:PATH", "msg_id": UUID, "priority": "next"}`, with an envelope around the text:
//! `<cross-session-message from="uds:PATH" from-name="NAME">`. The receiver says nothing if it accepts the message.
//! Otherwise it connects to PATH, if that is a socket in its own directory, and writes `{"type": "control", "action":
//! "peer_message_status", "status": "held", "reason": …, "orig_msg_id": UUID}`; a status is `held`, `denied`, `expired`,
//! `refused`, `dropped` or `delivered`. In a mode without permissions it holds the messages of every process that it did
//! not start. It drops messages above a burst of 30 and then one in two seconds, and the third message with the same text,
//! so the hub adds a part of the message's id. The model's tool `SendMessage` writes the
//! same line to the hub's socket.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hub_core::sync::lock;
use hub_engine::Hub;
use hub_protocol::Process;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;

use super::PushedBatch;
use super::mailbox::Mailbox;
use hub_watch::claude_sessions;
use hub_watch::untrusted_dir::own_user;

/// How many messages a session takes at once, and after how many seconds it takes another one.
const BURST: f64 = 30.0;
const SECONDS_PER_MESSAGE: f64 = 2.0;

/// How long the news that a message was not accepted counts. Later, its notifications were offered again without it.
const REFUSABLE: Duration = Duration::from_secs(60);

/// The characters of a message's text that would end its envelope are replaced.
const ENVELOPE_END: &str = "</cross-session-message";

/// The messages that a session may still refuse, by their ids.
pub(super) type Outstanding = Arc<Mutex<HashMap<String, (PushedBatch, Instant)>>>;

/// The sockets of all sessions.
pub(super) struct ClaudeInboxes {
    mailbox: Mailbox,
    outstanding: Outstanding,
    budgets: Mutex<Budgets>,
}

/// The messages that each socket still takes, at a time.
#[derive(Debug, Default)]
struct Budgets(HashMap<PathBuf, (f64, Instant)>);

/// The socket of one session.
#[derive(Debug)]
pub(super) struct ClaudeInbox {
    socket: PathBuf,
    /// The hub's own socket, for the receiver's answers.
    from: PathBuf,
    outstanding: Outstanding,
}

impl ClaudeInboxes {
    pub(super) fn new(hub: &Hub, state_dir: &Path) -> Self {
        let outstanding = Outstanding::default();
        Self {
            mailbox: Mailbox::new(hub.clone(), state_dir, Arc::clone(&outstanding)),
            outstanding,
            budgets: Mutex::default(),
        }
    }

    /// Finds the socket of a session's process; or returns why it has none, or takes no message now.
    pub(super) async fn find(&self, process: &Process) -> Result<ClaudeInbox, &'static str> {
        let socket = claude_sessions::messaging_socket(process).await;
        let socket = socket.ok_or("the session has no socket for messages of other sessions")?;
        let from = self.mailbox.open_beside(&socket);
        let from = from.ok_or("the hub could not open its own socket beside the session's")?;
        let has_room = lock(&self.budgets).spend(&socket, Instant::now());
        if !has_room {
            return Err("Claude Code takes no more messages of others for two seconds");
        }
        Ok(ClaudeInbox {
            socket,
            from,
            outstanding: Arc::clone(&self.outstanding),
        })
    }
}

impl Budgets {
    /// Counts a message; false if the socket takes no more now.
    fn spend(&mut self, socket: &Path, now: Instant) -> bool {
        let left = |(left, at): &(f64, Instant)| {
            let seconds = now.saturating_duration_since(*at).as_secs_f64();
            (left + seconds / SECONDS_PER_MESSAGE).min(BURST)
        };
        self.0.retain(|_, budget| left(budget) < BURST);
        let left = self.0.get(socket).map_or(BURST, left);
        if left < 1.0 {
            return false;
        }
        self.0.insert(socket.to_owned(), (left - 1.0, now));
        true
    }
}

impl ClaudeInbox {
    /// Sends a text that announces a batch. The receiver takes its time to refuse it, above all on a busy machine, so
    /// the mailbox takes that news.
    pub(super) async fn send(&self, text: &str, batch: &PushedBatch) -> io::Result<()> {
        let mut stream = UnixStream::connect(&self.socket).await?;
        let uid = stream.peer_cred()?.uid();
        if uid != own_user() {
            return Err(io::Error::other(format!(
                "the socket belongs to user {uid}"
            )));
        }
        let id = message_id()?;
        let line = self.line(&id, text);
        {
            let mut outstanding = lock(&self.outstanding);
            outstanding.retain(|_, (_, sent)| sent.elapsed() < REFUSABLE);
            outstanding.insert(id, (batch.clone(), Instant::now()));
        }
        stream.write_all(line.as_bytes()).await?;
        stream.shutdown().await
    }

    fn line(&self, id: &str, text: &str) -> String {
        let from = format!("uds:{}", self.from.display());
        let text = text.replace(ENVELOPE_END, "<|cross-session-message");
        let number = id.split('-').next().unwrap_or(id);
        let content = format!(
            "<cross-session-message from=\"{from}\" from-name=\"hub\">\n{text}\n(message {number})\n</cross-session-message>"
        );
        let message = json!({
            "msgV": 1,
            "type": "user",
            "message": { "role": "user", "content": content },
            "from": from,
            "msg_id": id,
            "priority": "next",
        });
        format!("{message}\n")
    }
}

/// A random UUID of version 4.
fn message_id() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let random = u128::from_be_bytes(bytes);
    let id = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{id:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    Ok(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_gets_thirty_messages_at_once_and_then_one_in_two_seconds() {
        let mut budgets = Budgets::default();
        let now = Instant::now();
        let mut sent = |seconds| {
            let now = now + Duration::from_secs(seconds);
            (0..40)
                .filter(|_| budgets.spend(Path::new("/s"), now))
                .count()
        };
        assert_eq!([sent(0), sent(1), sent(2), sent(100)], [30, 0, 1, 30]);
    }

    #[test]
    fn a_message_id_is_a_random_uuid() {
        let id = message_id().unwrap();
        let bytes = id.as_bytes();
        assert_eq!((id.len(), bytes[14], bytes[18]), (36, b'4', bytes[18]));
        assert!(
            b"89ab".contains(&bytes[19]) && id != message_id().unwrap(),
            "{id}"
        );
    }
}
