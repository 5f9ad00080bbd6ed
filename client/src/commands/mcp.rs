//! `hubctl mcp`: connects an MCP client to the hub. The hub is the server; this command carries its messages.
//!
//! A line of stdin is one JSON-RPC message. A request is posted to the hub's `/mcp`, with the identity of this process,
//! and the answer is a line of stdout. Neither side keeps a state that a restart of the hub would lose, so requests go
//! on after one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hub_protocol::{InboxName, ProjectName};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::error::{Error, Unreachable};
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::{Path, Request, body, refused};
use crate::identity::Context;
use crate::identity::sender::{is_outside, sender};
use crate::output::println;
use crate::system::random::random_hex;

/// How long the hub may take for one request: longer than the longest wait of a tool.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long a request is retried while no hub listens: long enough for a restart.
const CONTACT: Duration = Duration::from_secs(5);

/// How long running requests may take after the end of stdin.
const LAST: Duration = Duration::from_secs(2);

/// The member of a request's `_meta` that names its protocol, from 2026-07-28 on.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// A running request, by its id as JSON. Dropping it ends the request.
type Call = (String, oneshot::Sender<()>);

pub(crate) fn run(context: Context) -> Result<Exit, Error> {
    let proxy = Arc::new(Proxy {
        project: context.project(None)?.value,
        client: random_hex()?,
        context,
    });
    let mut calls: Vec<Call> = Vec::new();
    for line in std::io::stdin().lines() {
        let line = line?;
        calls.retain(|(_, call)| !call.is_closed());
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            println(failure("null", -32700, "this line is not JSON"))?;
            continue;
        };
        match (message["method"].as_str(), &message["id"]) {
            (Some("notifications/cancelled"), _) => {
                let id = message["params"]["requestId"].to_string();
                calls.retain(|(call, _)| *call != id);
            }
            // No other notification concerns the hub, and it asks its clients nothing.
            (Some(_), Value::Null) => {}
            (Some(_), id) => calls.push((id.to_string(), Arc::clone(&proxy).begin(line, message)?)),
            (None, _) => println(failure("null", -32600, "this is no request"))?,
        }
    }
    let until = Instant::now() + LAST;
    while Instant::now() < until && calls.iter().any(|(_, call)| !call.is_closed()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(Exit::DONE)
}

/// Who speaks to the hub.
#[derive(Debug)]
struct Proxy {
    context: Context,
    project: ProjectName,
    /// Names this run, so that the hub acknowledges nothing that an earlier run was given.
    client: String,
}

impl Proxy {
    /// Answers a request on stdout, in a thread of its own. Dropping the sender ends it without an answer.
    fn begin(self: Arc<Self>, line: String, message: Value) -> Result<oneshot::Sender<()>, Error> {
        let (call, mut cancelled) = oneshot::channel();
        let runtime = crate::runtime()?;
        std::thread::spawn(move || {
            let answer = runtime.block_on(async {
                tokio::select! {
                    answer = self.ask(line, &message) => Some(answer),
                    _ = &mut cancelled => None,
                }
            });
            let answer = match answer {
                None => return,
                Some(Ok(answer)) => answer,
                Some(Err(error)) => failure(&message["id"].to_string(), -32603, &error.to_string()),
            };
            // A client that does not read has gone; then stdin ends as well.
            let _ = println(answer);
        });
        Ok(call)
    }

    async fn ask(&self, line: String, message: &Value) -> Result<String, Error> {
        let params = &message["params"];
        let headers = [
            ("mcp-method", &message["method"]),
            ("mcp-name", &params["name"]),
            ("mcp-protocol-version", &params["_meta"][VERSION]),
        ];
        let mut request = Request::post(self.path().await?, line);
        for (name, value) in headers {
            if let Some(value) = value.as_str() {
                request = request.header(name, value);
            }
        }
        let until = Instant::now() + CONTACT;
        let mut backoff = Backoff::local();
        let response = loop {
            // A request that a hub may have received is not sent twice.
            match self.context.hub()?.answer(&request, PATIENCE).await {
                Err(Error::Unreachable(Unreachable {
                    connected: false, ..
                })) if Instant::now() < until => {
                    backoff.pause().await;
                }
                answer => break answer?,
            }
        };
        let kind = response.headers().get("content-type");
        if kind.is_none_or(|kind| kind != "application/json") {
            return Err(refused(response).await);
        }
        body(response).await
    }

    /// The path with this process's identity. The session may be registered later than this process starts.
    async fn path(&self) -> Result<Path, Error> {
        let who = sender(&self.context, None).await?;
        let name = if is_outside(&who) { "from" } else { "session" };
        let who = Some(who.value).filter(|it| !it.is_reserved());
        let parent = self.context.env.parsed::<InboxName>("HUB_PARENT")?;
        Ok(Path::new("/mcp")
            .with("project", &self.project)
            .with("client", &self.client)
            .maybe(name, who)
            .maybe("parent", parent.map(|it| it.value)))
    }
}

/// A JSON-RPC error for the request with this id.
fn failure(id: &str, code: i32, message: &str) -> String {
    let message = Value::from(message);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}
