//! `hub-acp run`: the hub as the client of an agent.

mod dialogs;
mod inputs;
mod options;
mod requests;
mod start;
mod turn;

use std::collections::{HashMap, VecDeque};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use self::inputs::Input;
pub(crate) use self::start::{RunArgs, load, run};

use crate::agent::FromAgent;
use crate::calls::{self, Calls};
use crate::command::Launch;
use crate::dialog::Dialog;
use crate::frame::{Frame, Message};
use crate::reports::{LATER, Reports, SOON};
use crate::views::Views;
use crate::wire::Wire;

use self::turn::{Prompt, Turn};

/// How long an agent that began a turn by itself is silent before the turn counts as ended: nothing says so.
const QUIET: Duration = Duration::from_secs(3);

/// A session that the hub is the client of.
struct Session {
    launch: Launch,
    wire: Wire,
    reports: Reports,
    to_self: UnboundedSender<Input>,
    inputs: UnboundedReceiver<Input>,
    /// Whether the hub may wake it.
    idle: watch::Sender<bool>,
    views: Views,
    turn: Turn,
    /// Prompts that wait for the end of the turn: agents refuse or mix up a second one.
    prompts: VecDeque<Prompt>,
    /// Prompts that were put into the running turn, by their requests, until the agent says that it has them.
    steered: HashMap<u64, Prompt>,
    /// Texts of the hub for the next prompt: about itself, and what a cancelled one did not bring.
    notes: Vec<String>,
    calls: Calls,
    /// The agent's last message.
    said: String,
    dialogs: VecDeque<Dialog>,
    /// How many dialogs there were.
    numbers: u64,
    /// Whether a prompt can be put into a running turn.
    steers: bool,
    /// Whether the session ends when there is nothing left to do, because its input has ended.
    leaves: bool,
}

/// How a session ended.
enum Ended {
    /// The person ended it.
    ByPerson,
    /// The agent's process ended.
    Died,
}

impl Session {
    /// Runs until the person ends it or the agent dies; returns the exit code, and whether the person ended it.
    async fn serve(mut self) -> (ExitCode, bool) {
        for frame in std::mem::take(&mut self.wire.early) {
            // The repeated part of a loaded session is no news.
            if let Message::Notification { params, .. } = frame.message() {
                self.views.update(&params["update"]);
            } else {
                self.take(&frame);
            }
        }
        let ended = loop {
            self.go_on();
            if self.leaves && *self.idle.borrow() {
                break Ended::ByPerson;
            }
            let quiet = self.turn.quiet_until();
            tokio::select! {
                said = self.wire.from_agent.recv() => match said {
                    Some(FromAgent::Frame(frame)) => self.take(&frame),
                    Some(FromAgent::Complaint(line)) => self.wire.complain(line),
                    Some(FromAgent::Ended) | None => break Ended::Died,
                },
                input = self.inputs.recv() => if input.is_none_or(|it| self.obey(it)) {
                    break Ended::ByPerson;
                },
                () = tokio::time::sleep_until(quiet.unwrap_or_else(Instant::now)), if quiet.is_some() => self.rest(),
            }
        };
        self.end(ended).await
    }

    async fn end(mut self, ended: Ended) -> (ExitCode, bool) {
        for dialog in &mut self.dialogs {
            dialog.release();
        }
        let (code, patience) = match ended {
            Ended::ByPerson => (ExitCode::SUCCESS, SOON),
            Ended::Died => {
                let why = self.wire.why_ended();
                self.views.line(&format!("hub-acp: {why}"));
                self.reports
                    .tell(json!({ "hook_event_name": "acp.failed", "reason": why }));
                (ExitCode::FAILURE, LATER)
            }
        };
        self.wire.agent.end().await;
        self.reports.end(patience).await;
        (code, matches!(ended, Ended::ByPerson))
    }

    /// Takes a message of the agent.
    fn take(&mut self, frame: &Frame) {
        match frame.message() {
            Message::Request { id, method, params } => self.answer(id, method, params),
            Message::Notification {
                method: "session/update",
                params,
            } => self.update(&params["update"]),
            Message::Notification {
                method: "$/cancel_request",
                params,
            } => self.withdrawn(&params["requestId"]),
            Message::Response { id, outcome } => self.answered(id, outcome),
            Message::Notification { .. } | Message::Other => {}
        }
    }

    /// Takes what the agent tells of its turn.
    fn update(&mut self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let is_work = matches!(
            kind,
            "agent_message_chunk" | "tool_call" | "tool_call_update"
        );
        if is_work {
            self.works();
        }
        self.views.update(update);
        match kind {
            // The last message is what follows the last call of a tool.
            "agent_message_chunk" => {
                self.said += update["content"]["text"].as_str().unwrap_or_default();
            }
            "tool_call" | "tool_call_update" => {
                self.said.clear();
                let call = self.calls.merge(update).clone();
                let asks = !self.dialogs.is_empty();
                if let Some(event) = calls::event(update, &call, asks) {
                    self.tool(event);
                }
            }
            "session_info_update" => {
                if let Some(title) = update["title"].as_str() {
                    self.reports.describe(json!({ "title": title }));
                }
            }
            _ => {}
        }
    }
}
