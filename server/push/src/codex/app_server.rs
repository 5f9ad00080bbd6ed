//! The client of Codex's app-server, which starts turns in the threads of a person's terminals.
//!
//! Codex 0.169.0 runs every thread of its terminal in one background process for each `CODEX_HOME`, the app-server,
//! unless it was started with `--no-daemon`. The socket is `CODEX_HOME/app-server-control/app-server-control.sock`, a
//! link to a file in `/tmp/codex-daemon-UID`. It carries JSON-RPC without the member `jsonrpc`, each message a text of a
//! WebSocket. `codex app-server generate-ts --out DIR` prints the types. As recorded by `tests/agents/codex.rs`:
//!
//! | call | answer |
//! |---|---|
//! | `thread/read` | `thread.status.type`: `idle`, `active`, or `systemError` after a turn that failed; `notLoaded` for a stored thread without a process here; an error for an unknown one. In `active`, `activeFlags` has `waitingOnApproval` or `waitingOnUserInput` while a dialog is shown |
//! | `thread/turns/list` | the last turn's `status`; `interrupted` if the person pressed Escape |
//! | `turn/start` in an idle thread, or after a turn that failed | a turn with that prompt, which the terminal shows; `UserPromptSubmit` runs |
//! | `turn/start` in a turn | adds the prompt to the turn; lost if the person presses Escape before the model reads it |
//! | `turn/start` during an approval | the dialog stays, and the prompt follows the person's decision |
//! | `hooks/list` | each hook's `trustStatus`: `trusted`, `untrusted`, `modified` or `managed` |
//!
//! A thread stays loaded for a minute after its last terminal, and then runs `SessionEnd`. `codex queue` reaches the same
//! threads, and no thread of `--no-daemon`. It stops after Escape until the next prompt, as the hub does here. The hub
//! does not use it, because a message would stay in that queue and could arrive twice if a hook delivers it first.
//!
//! Approvals are requests of the app-server to the clients that resumed or started the thread. This client does neither,
//! and answers no request: a permission is the person's to give.

use std::path::Path;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use hub_watch::untrusted_dir::own_user;

/// The socket below `CODEX_HOME`.
pub(super) const SOCKET: &str = "app-server-control/app-server-control.sock";

/// Timeout of an answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Why a thread cannot be woken now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PushError {
    #[error("Codex's app-server does not run, so only the session's next turn delivers")]
    NotRunning,
    #[error("the socket of Codex's app-server belongs to another user")]
    ForeignSocket,
    #[error(
        "the thread is not loaded in Codex's app-server, because its terminal has ended or runs with --no-daemon"
    )]
    NotLoaded,
    #[error("the thread is in a turn")]
    Busy,
    #[error("paused: the person interrupted the last turn; the next prompt delivers")]
    Paused,
    #[error("Codex's app-server refused: {0}")]
    Refused(String),
    #[error("Codex's app-server does not answer: {0}")]
    Unavailable(String),
}

impl From<tungstenite::Error> for PushError {
    fn from(error: tungstenite::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// An idle thread that a prompt may wake.
pub(super) struct IdleThread {
    connection: Connection,
    thread: String,
}

impl IdleThread {
    /// Connects to the app-server, and checks that the thread is loaded, idle and not paused.
    pub(super) async fn find(socket: &Path, thread: &str) -> Result<Self, PushError> {
        in_time(Self::look(socket, thread)).await
    }

    async fn look(socket: &Path, thread: &str) -> Result<Self, PushError> {
        let mut connection = Connection::open(socket).await?;
        let params = json!({ "threadId": thread });
        let read = match connection.call("thread/read", params).await {
            Err(PushError::Refused(_)) => return Err(PushError::NotLoaded),
            read => read?,
        };
        match read["thread"]["status"]["type"].as_str() {
            Some("idle" | "systemError") => {}
            Some("active") => return Err(PushError::Busy),
            Some("notLoaded") => return Err(PushError::NotLoaded),
            other => return Err(PushError::Refused(other.unwrap_or("no status").to_owned())),
        }
        let params = json!({ "threadId": thread, "limit": 1, "itemsView": "notLoaded" });
        // A thread without a turn has no list of turns.
        let turns = match connection.call("thread/turns/list", params).await {
            Err(PushError::Refused(_)) => Value::Null,
            turns => turns?,
        };
        if turns["data"][0]["status"] == "interrupted" {
            return Err(PushError::Paused);
        }
        Ok(Self {
            connection,
            thread: thread.to_owned(),
        })
    }

    /// Starts a turn with this prompt.
    pub(super) async fn start_turn(mut self, text: &str) -> Result<(), PushError> {
        let input = json!([{ "type": "text", "text": text }]);
        let params = json!({ "threadId": self.thread, "input": input });
        in_time(async {
            self.connection.call("turn/start", params).await?;
            // The app-server has answered, so it does not matter how the connection ends.
            let _ = self.connection.socket.close(None).await;
            Ok(())
        })
        .await
    }
}

/// Whether a thread that is in a turn shows a dialog; an error if nothing is known of it, or if it is in no turn.
pub(super) async fn shows_dialog(socket: &Path, thread: &str) -> Result<bool, PushError> {
    in_time(async {
        let mut connection = Connection::open(socket).await?;
        let params = json!({ "threadId": thread });
        let read = connection.call("thread/read", params).await?;
        let status = &read["thread"]["status"];
        if status["type"] != "active" {
            return Err(PushError::NotLoaded);
        }
        let mut flags = status["activeFlags"].as_array().into_iter().flatten();
        Ok(flags.any(|it| it.as_str().is_some_and(|it| it.starts_with("waitingOn"))))
    })
    .await
}

/// Returns why Codex does not run all of the hub's hooks in the directory `cwd`; `None` if it does, or if the app-server
/// does not tell.
pub(super) async fn untrusted_hooks(socket: &Path, cwd: &str) -> Option<String> {
    let listed = in_time(async {
        let mut connection = Connection::open(socket).await?;
        connection
            .call("hooks/list", json!({ "cwds": [cwd] }))
            .await
    });
    let listed = listed.await.ok()?;
    let dirs = listed["data"].as_array()?.iter();
    let hooks = dirs.filter_map(|dir| dir["hooks"].as_array()).flatten();
    let is_ours = |hook: &&Value| {
        let command = hook["command"].as_str();
        command.is_some_and(|it| it.contains("hubctl") && it.contains("hook codex"))
    };
    let status = |hook: &Value| match hook["trustStatus"].as_str() {
        _ if hook["enabled"] == false => Some("disabled"),
        Some("untrusted") => Some("not trusted yet"),
        Some("modified") => Some("changed since the person trusted them"),
        _ => None,
    };
    let found = hooks.filter(is_ours).find_map(status)?;
    Some(format!(
        "Codex does not run the hub's hooks, because they are {found}; review them with /hooks"
    ))
}

/// A connection to an app-server that has been initialised.
struct Connection {
    socket: WebSocketStream<UnixStream>,
    last_id: u64,
}

impl Connection {
    async fn open(socket: &Path) -> Result<Self, PushError> {
        let stream = UnixStream::connect(socket).await;
        let stream = stream.map_err(|_| PushError::NotRunning)?;
        // The path is in directories that the person may share, so the peer itself is checked.
        let peer = stream.peer_cred().map_err(|_| PushError::ForeignSocket)?;
        if peer.uid() != own_user() {
            return Err(PushError::ForeignSocket);
        }
        let (socket, _) = client_async("ws://localhost/", stream).await?;
        let mut connection = Self { socket, last_id: 0 };
        let client = json!({ "name": "hubd", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "clientInfo": client, "capabilities": null });
        connection.call("initialize", params).await?;
        connection.send(&json!({ "method": "initialized" })).await?;
        Ok(connection)
    }

    /// Calls a method, and returns its result. Other messages are skipped: they are notifications, and requests to other
    /// clients.
    async fn call(&mut self, method: &str, params: Value) -> Result<Value, PushError> {
        self.last_id += 1;
        let id = self.last_id;
        let call = json!({ "id": id, "method": method, "params": params });
        self.send(&call).await?;
        loop {
            let mut message = self.receive().await?;
            if message["id"] != id || message.get("method").is_some() {
                continue;
            }
            return match message["error"]["message"].as_str() {
                Some(error) => Err(PushError::Refused(error.to_owned())),
                None => Ok(message["result"].take()),
            };
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), PushError> {
        let text = Message::text(message.to_string());
        Ok(self.socket.send(text).await?)
    }

    async fn receive(&mut self) -> Result<Value, PushError> {
        loop {
            let message = self.socket.next().await;
            let message = message.ok_or(tungstenite::Error::ConnectionClosed)??;
            if let Message::Text(text) = message {
                let parsed = serde_json::from_str(&text);
                return parsed.map_err(|error| PushError::Unavailable(error.to_string()));
            }
        }
    }
}

async fn in_time<T>(step: impl Future<Output = Result<T, PushError>>) -> Result<T, PushError> {
    let done = tokio::time::timeout(TIMEOUT, step).await;
    done.unwrap_or_else(|_| Err(PushError::Unavailable("timed out".into())))
}
