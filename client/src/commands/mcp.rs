//! `hubctl mcp`: connects an MCP client to the hub. The hub is the server; this command carries its messages.
//!
//! A line of stdin is one JSON-RPC message. A request is posted to the hub's `/mcp`, with the identity of this process,
//! and the answer is a line of stdout. The hub keeps no state of a client that a restart could lose, so requests go on
//! after one.

use std::collections::HashMap;
use std::io::BufRead as _;
use std::sync::Arc;
use std::time::Duration;

use hub_protocol::{InboxName, ProjectName};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::error::{Error, Unreachable};
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::{Hub, Path, Request, refused};
use crate::identity::Context;
use crate::identity::sender::{sender, session};
use crate::output::println;
use crate::system::random::random_hex;

/// How long the hub may take for one request: longer than the longest wait of a tool.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long a request is retried while no hub listens: long enough for a restart.
const CONTACT: Duration = Duration::from_secs(5);

/// How long running requests may take after the end of stdin.
const LAST: Duration = Duration::from_secs(2);

/// The member of a request's `_meta` that names its protocol, from 2026-07-28 on.
const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An MCP client runs this command. It offers the model tools to notify, ask, answer and wait.

Examples:
  claude mcp add hub -- hubctl mcp
  codex mcp add hub -- hubctl mcp")]
/// The arguments of `hubctl mcp`.
pub(crate) struct McpArgs {
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
}

pub(crate) async fn run(args: &McpArgs, context: Context) -> Result<Exit, Error> {
    let proxy = Arc::new(Proxy {
        hub: context.hub()?,
        project: context.project(args.project.as_ref())?.value,
        client: random_hex()?,
        context,
    });
    let mut lines = lines();
    let mut running = JoinSet::new();
    let mut calls: HashMap<String, AbortHandle> = HashMap::new();
    while let Some(line) = lines.recv().await {
        while running.try_join_next().is_some() {}
        calls.retain(|_, call| !call.is_finished());
        let message: Value = match serde_json::from_str(&line) {
            Ok(message) => message,
            Err(_) => {
                println(failure(&Value::Null, -32700, "this line is not JSON"))?;
                continue;
            }
        };
        let cancelled = message.pointer("/params/requestId");
        match (message.get("id"), message["method"].as_str()) {
            (Some(id), Some(_)) => {
                let call = Arc::clone(&proxy).call(line, message.clone());
                calls.insert(id.to_string(), running.spawn(call));
            }
            (None, Some("notifications/cancelled")) => {
                if let Some(call) = cancelled.and_then(|id| calls.remove(&id.to_string())) {
                    call.abort();
                }
            }
            // The hub asks its clients nothing, and no other notification concerns it.
            (_, Some(_)) => {}
            (id, None) if message.get("result").or(message.get("error")).is_none() => {
                println(failure(
                    id.unwrap_or(&Value::Null),
                    -32600,
                    "this is no request",
                ))?;
            }
            _ => {}
        }
    }
    let rest = async { while running.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST, rest).await;
    Ok(Exit::DONE)
}

/// The lines of stdin.
fn lines() -> mpsc::Receiver<String> {
    let (lines, receiver) = mpsc::channel(16);
    // A thread, because stdin cannot be read asynchronously. The process does not wait for it to end.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if !line.trim().is_empty() && lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The hub, and who speaks to it.
#[derive(Debug)]
struct Proxy {
    context: Context,
    hub: Hub,
    project: ProjectName,
    /// Names this run, so that the hub acknowledges nothing that an earlier run was given.
    client: String,
}

impl Proxy {
    /// Answers a request on stdout.
    async fn call(self: Arc<Self>, line: String, message: Value) {
        let answer = match self.ask(line, &message).await {
            Ok(answer) => answer,
            Err(error) => failure(&message["id"], -32603, &error.to_string()),
        };
        // The client has gone if it does not read; then stdin ends as well.
        let _ = println(answer);
    }

    async fn ask(&self, line: String, message: &Value) -> Result<String, Error> {
        let mut request = Request::post(self.path().await?, line)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-method", message["method"].as_str().unwrap_or_default());
        if let Some(version) = message.pointer(VERSION).and_then(Value::as_str) {
            request = request.header("mcp-protocol-version", version);
        }
        if let Some(name) = message.pointer("/params/name").and_then(Value::as_str) {
            request = request.header("mcp-name", name);
        }
        let response = self.contact(&request).await?;
        let kind = response.headers().get("content-type");
        let is_answer = kind.is_some_and(|kind| kind == "application/json");
        if !is_answer {
            return Err(refused(response).await);
        }
        let broken = |error: reqwest::Error| crate::hub::unreachable(&error);
        response.text().await.map_err(broken)
    }

    /// Sends a request, again while no hub listens. One that a hub may have received is not sent twice.
    async fn contact(&self, request: &Request) -> Result<reqwest::Response, Error> {
        let until = tokio::time::Instant::now() + CONTACT;
        let mut backoff = Backoff::local();
        loop {
            match self.hub.answer(request, PATIENCE).await {
                Err(Error::Unreachable(Unreachable {
                    connected: false, ..
                })) if tokio::time::Instant::now() < until => {
                    backoff.pause().await;
                }
                answer => return answer,
            }
        }
    }

    /// The path with this process's identity. The session may be registered later than this process starts.
    async fn path(&self) -> Result<Path, Error> {
        let session = session(&self.context).await?.map(|it| it.value);
        let from = match session {
            Some(_) => None,
            None => Some(sender(&self.context, None).await?.value),
        };
        let parent = self.context.env.parsed::<InboxName>("HUB_PARENT")?;
        Ok(Path::new("/mcp")
            .with("project", &self.project)
            .with("client", &self.client)
            .maybe("session", session)
            .maybe("from", from.filter(|it| !it.is_reserved()))
            .maybe("parent", parent.map(|it| it.value)))
    }
}

/// A JSON-RPC error.
fn failure(id: &Value, code: i32, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}
