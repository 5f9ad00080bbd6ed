//! `hubctl mcp`: connects an MCP client to the hub. The hub is the server; this command carries its messages.
//!
//! A line of stdin is one JSON-RPC message. A request is posted to the hub's `/mcp`, with the identity of this process,
//! and the answer is a line of stdout. Neither side keeps a state that a restart of the hub would lose, so requests go
//! on after one.
//!
//! With `--dialogs`, questions to the person become requests to the client (see `mcp/dialogs.rs`).

mod dialogs;

use std::io;
use std::pin::pin;
use std::time::Duration;

use hub_protocol::ProjectName;
use serde_json::Value;
use tokio::sync::oneshot;

use self::dialogs::Dialogs;
use crate::error::{Error, Unreachable};
use crate::exit_code::Exit;
use crate::hub::backoff::Backoff;
use crate::hub::{Path, Request, body};
use crate::identity::Context;
use crate::identity::sender::{is_outside, sender};
use crate::output::println;
use crate::system::random::random_hex;
use crate::system::runtime::block_on;

/// How long the hub may take for one request: longer than the longest wait of a tool.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often a request is tried again while no hub listens: about 5 s, long enough for a restart.
const ATTEMPTS: u32 = 8;

/// How long running requests may take after the end of stdin, in hundredths of a second.
const LAST_POLLS: u32 = 200;

/// A running request, by its id as JSON. Dropping it ends the request.
type Call = (String, oneshot::Sender<()>);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  claude mcp add hub -- hubctl mcp
  claude mcp add hub -- hubctl mcp --dialogs
  codex mcp add hub -- hubctl mcp")]
/// The arguments of `hubctl mcp`.
pub(crate) struct McpArgs {
    /// Show questions to the person (`hubctl ask --to person`) in dialogs of this client
    #[arg(long)]
    dialogs: bool,
}

pub(crate) async fn run(args: &McpArgs, context: Context) -> Result<Exit, Error> {
    // It lives as long as this process.
    let proxy: &Proxy = Box::leak(Box::new(Proxy {
        project: context.project(None).await?.value,
        client: random_hex()?,
        context,
    }));
    let mut dialogs = args.dialogs.then(|| Dialogs::new(proxy));
    let mut calls: Vec<Call> = Vec::new();
    for line in io::stdin().lines() {
        let line = line?;
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(dialogs) = &mut dialogs
            && dialogs.take(&message)?
        {
            continue;
        }
        let (method, id) = (message["method"].as_str(), message["id"].to_string());
        // Of the client's notifications, only this one concerns the hub.
        let cancelled = match method {
            Some("notifications/cancelled") => message["params"]["requestId"].to_string(),
            _ => String::new(),
        };
        calls.retain(|(id, call)| !call.is_closed() && *id != cancelled);
        if method.is_none() {
            println(failure("null", -32700, "this line is no JSON-RPC request"))?;
        } else if id != "null" {
            calls.push((id.clone(), proxy.begin(line, id)));
        }
    }
    for _ in 0..LAST_POLLS {
        if calls.iter().all(|(_, call)| call.is_closed()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
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
    fn begin(&'static self, line: String, id: String) -> oneshot::Sender<()> {
        let (call, mut cancelled) = oneshot::channel();
        std::thread::spawn(move || {
            let answering = async {
                let answer = tokio::select! {
                    biased;
                    answer = self.ask(line) => answer,
                    _ = &mut cancelled => return Ok(Exit::DONE),
                };
                println(answer.unwrap_or_else(|error| failure(&id, -32603, &error.to_string())))?;
                Ok(Exit::DONE)
            };
            // A client that does not read its answers has gone; then stdin ends as well.
            let _: io::Result<Result<_, Error>> = block_on(pin!(answering));
        });
        call
    }

    async fn ask(&self, line: String) -> Result<String, Error> {
        let request = Request::post(self.path().await?, line);
        let mut attempts = ATTEMPTS;
        let mut backoff = Backoff::local();
        let response = loop {
            // A request that a hub may have received is not sent twice.
            match self.context.hub()?.answer(&request, PATIENCE).await {
                Err(Error::Unreachable(Unreachable {
                    connected: false, ..
                })) if attempts > 0 => {
                    attempts -= 1;
                    backoff.pause().await;
                }
                answer => break answer?,
            }
        };
        let answer = body(response).await?;
        if answer.starts_with("{\"jsonrpc\"") {
            return Ok(answer);
        }
        Err(anyhow::anyhow!("the hub refused it: {answer}").into())
    }

    /// The path with this process's identity. The session may be registered later than this process starts.
    async fn path(&self) -> Result<Path, Error> {
        let who = sender(&self.context, None).await?;
        let name = if is_outside(&who) { "from" } else { "session" };
        let who = Some(who.value).filter(|it| !it.is_reserved());
        Ok(Path::new("/mcp")
            .with("project", &self.project)
            .with("client", &self.client)
            .maybe(name, who))
    }
}

/// A JSON-RPC error for the request with this id.
fn failure(id: &str, code: i32, message: &str) -> String {
    let message = Value::from(message);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}
