//! The hub's socket beside those of the sessions of Claude Code: it takes the answers to the hub's messages, and the
//! messages that a session sends to the hub.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hub_core::command::IdempotencyKey;
use hub_core::sync::lock;
use hub_engine::Hub;
use hub_engine::draft::Context;
use hub_protocol::{InboxName, Kind, Post, ProjectName};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::claude_inbox::Outstanding;
use hub_watch::untrusted_dir::own_user;
use hub_watch::{Verdict, store};

/// Largest line in bytes.
const MAX_LINE: u64 = 256 * 1024;

/// The longest id of a message in bytes; Claude Code uses UUIDs.
const MAX_ID: usize = 64;

/// A sender must write its line within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// The statuses of messages that the receiver has not accepted.
const NOT_ACCEPTED: [&str; 5] = ["held", "denied", "expired", "refused", "dropped"];

/// The hub's sockets, one in each directory of sessions' sockets.
pub(super) struct Mailbox {
    hub: Hub,
    outstanding: Outstanding,
    /// The file name of each socket, the same at each start of this hub.
    name: String,
    open: Mutex<HashMap<PathBuf, OpenSocket>>,
}

/// A socket that is removed when it is dropped.
#[derive(Debug)]
struct OpenSocket {
    path: PathBuf,
    _accepting: DropGuard,
}

/// A line on the socket.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    msg_id: Option<String>,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    orig_msg_id: Option<String>,
}

impl Mailbox {
    /// The sockets of the hub whose state directory is `state_dir`.
    pub(super) fn new(hub: Hub, state_dir: &Path, outstanding: Outstanding) -> Self {
        let digest = Sha256::digest(state_dir.as_os_str().as_encoded_bytes());
        let digest = digest.iter().take(4).map(|byte| format!("{byte:02x}"));
        Self {
            hub,
            outstanding,
            name: format!("hub-{}.sock", digest.collect::<String>()),
            open: Mutex::default(),
        }
    }

    /// Opens the hub's socket in the directory of a session's socket, and returns its path; `None` if that fails.
    pub(super) fn open_beside(&self, socket: &Path) -> Option<PathBuf> {
        let dir = socket.parent()?;
        let mut open = lock(&self.open);
        if let Some(found) = open.get(dir).filter(|it| it.path.exists()) {
            return Some(found.path.clone());
        }
        match self.bind(dir) {
            Ok(socket) => {
                let path = socket.path.clone();
                open.insert(dir.to_owned(), socket);
                Some(path)
            }
            Err(error) => {
                tracing::warn!(%error, dir = %dir.display(), "the hub has no socket for messages of sessions");
                None
            }
        }
    }

    fn bind(&self, dir: &Path) -> io::Result<OpenSocket> {
        let owner = fs::metadata(dir)?.uid();
        if owner != own_user() {
            let error = format!("the directory belongs to user {owner}");
            return Err(io::Error::other(error));
        }
        let path = dir.join(&self.name);
        // The socket of an earlier run of this hub.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let cancel = CancellationToken::new();
        let (hub, outstanding) = (self.hub.clone(), Arc::clone(&self.outstanding));
        tokio::spawn(accept(listener, hub, outstanding, cancel.clone()));
        Ok(OpenSocket {
            path,
            _accepting: cancel.drop_guard(),
        })
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn accept(
    listener: UnixListener,
    hub: Hub,
    outstanding: Outstanding,
    cancel: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = cancel.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PATIENCE).await;
            continue;
        };
        let (hub, outstanding) = (hub.clone(), Arc::clone(&outstanding));
        tokio::spawn(async move {
            let read = tokio::time::timeout(PATIENCE, read(stream)).await;
            if let Ok(Ok((line, pid))) = read {
                take(&hub, &outstanding, line, pid).await;
            }
        });
    }
}

/// Reads the line of a process of the hub's own user, and closes the connection, which the sender waits for.
async fn read(stream: UnixStream) -> io::Result<(Line, Option<u32>)> {
    let credentials = stream.peer_cred()?;
    if credentials.uid() != own_user() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok());
    let mut line = String::new();
    let mut reader = BufReader::new(stream.take(MAX_LINE));
    reader.read_line(&mut line).await?;
    Ok((serde_json::from_str(&line)?, pid))
}

async fn take(hub: &Hub, outstanding: &Outstanding, line: Line, pid: Option<u32>) {
    if line.action.as_deref() == Some("peer_message_status") {
        let status = line.status.unwrap_or_default();
        let message = line
            .orig_msg_id
            .and_then(|id| lock(outstanding).remove(&id));
        if let Some((batch, _)) = message.filter(|_| NOT_ACCEPTED.contains(&&*status)) {
            let reason = line.reason.map_or(String::new(), |it| format!(": {it}"));
            batch.failed(hub, format!("{status}{reason}")).await;
        }
        return;
    }
    let content = line.message.get("content").and_then(Value::as_str);
    let id = line.msg_id.filter(|id| id.len() <= MAX_ID);
    let (Some(text), Some(id), "user") = (content, id, line.kind.as_str()) else {
        return;
    };
    let Some((project, session, is_primary)) = pid.and_then(|pid| session_of(hub, pid)) else {
        tracing::warn!(pid, "a message of a process that is no session was ignored");
        return;
    };
    let post = Post {
        msg: without_envelope(text).to_owned(),
        from: Some(session),
        // A primary's message would go to itself.
        to: is_primary.then(|| InboxName::PERSON.parse().expect("a constant name")),
        kind: Some(Kind::Message),
        project: Some(project),
        ..Post::default()
    };
    let once = IdempotencyKey::new(&id, text.as_bytes());
    let stored = store(hub, post, &Context::new(hub), once).await;
    if stored != Verdict::Stored {
        tracing::warn!(?stored, "a message of a session was not stored");
    }
}

/// The living session whose process this is, and whether it is the primary one.
fn session_of(hub: &Hub, pid: u32) -> Option<(ProjectName, InboxName, bool)> {
    let started = hub_protocol::process::started(pid);
    let found = hub.read(|state, _| {
        let mut sessions = state.sessions.iter(None);
        sessions.find_map(|(project, key, session)| {
            let process = session.info()?.process.as_ref()?;
            let is_it = process.pid == pid && process.started == started && session.is_alive();
            let is_primary = || state.sessions.primary(project) == Some(key);
            is_it.then(|| (project.clone(), key.clone(), is_primary()))
        })
    });
    found.ok().flatten()
}

/// The text within `<cross-session-message …>`.
fn without_envelope(text: &str) -> &str {
    let inner = || {
        let (_, rest) = text
            .strip_prefix("<cross-session-message")?
            .split_once(">\n")?;
        rest.strip_suffix("\n</cross-session-message>")
    };
    inner().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_message_is_taken_out_of_its_envelope() {
        let text = "<cross-session-message from=\"uds:/a\" from-mode=\"prompting\">\na\nb\n</cross-session-message>";
        assert_eq!(without_envelope(text), "a\nb");
        for plain in ["a", "<cross-session-message from=\"uds:/a\">", ""] {
            assert_eq!(without_envelope(plain), plain);
        }
    }
}
