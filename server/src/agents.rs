//! Coding agents: what each one's hooks say in its own words, and what it can be told in the answer.
//!
//! One file an agent: its payload becomes an [`Event`], and [`Words`] become its reply. What follows from an event is
//! decided in the fold, the same for all.

use std::str::FromStr;

use hub_protocol::InboxName;
use serde_json::{Map, Value};

use crate::command::Happened;

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
pub mod instructions;
mod opencode;

/// An agent whose hooks the hub understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// `OpenCode`.
    OpenCode,
    /// Copilot CLI; experimental.
    Copilot,
    /// Cursor; experimental.
    Cursor,
}

/// No agent of that name.
#[derive(Debug, thiserror::Error)]
#[error("no agent '{0}'")]
pub struct UnknownAgent(String);

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(text: &str) -> Result<Self, UnknownAgent> {
        Ok(match text {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "gemini" => Self::Gemini,
            "opencode" => Self::OpenCode,
            "copilot" => Self::Copilot,
            "cursor" => Self::Cursor,
            _ => return Err(UnknownAgent(text.chars().take(64).collect())),
        })
    }
}

/// A hook event in words that all agents share.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The agent's id of the session.
    pub id: InboxName,
    /// The event's own name.
    pub name: String,
    /// The session's working directory.
    pub cwd: Option<String>,
    /// It happened inside a subagent: nothing is told to that one.
    pub subagent: bool,
    /// What happened.
    pub happened: Happened,
    /// Whether the answer can carry text to the model.
    pub carries: bool,
    /// Whether the agent waits for the answer before it asks for a permission itself.
    pub decides: bool,
}

/// What an answer is to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// Text for the model.
    pub context: Option<String>,
    /// Whether what the agent asked for is allowed, and why not.
    pub decision: Option<(bool, Option<String>)>,
}

/// Why a payload is no event.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnEvent {
    /// The session's id is missing, or no name.
    #[error("'{0}' must be a session's id")]
    Session(&'static str),
}

impl Agent {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
        }
    }

    /// What a payload says. Events and fields that are not known say only that the session lives.
    pub fn hear(self, payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
        match self {
            Self::Claude => claude::hear(payload),
            Self::Codex => codex::hear(payload),
            Self::Gemini => gemini::hear(payload),
            Self::OpenCode => opencode::hear(payload),
            Self::Copilot => copilot::hear(payload),
            Self::Cursor => cursor::hear(payload),
        }
    }

    /// The agent's own form of an answer; `None` where there is nothing to say.
    pub fn reply(self, event: &Event, words: Words) -> Option<Value> {
        if words == Words::default() {
            return None;
        }
        match self {
            Self::Claude => claude::reply(event, words),
            Self::Codex => codex::reply(event, words),
            Self::Gemini => gemini::reply(event, words),
            Self::OpenCode => opencode::reply(event, words),
            Self::Copilot => copilot::reply(event, words),
            Self::Cursor => cursor::reply(event, words),
        }
    }
}

/// A text field, empty where it is missing.
fn text<'a>(payload: &'a Map<String, Value>, field: &str) -> &'a str {
    payload
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn flag(payload: &Map<String, Value>, field: &str) -> bool {
    payload
        .get(field)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

/// A session's id in `field`.
fn session(payload: &Map<String, Value>, field: &'static str) -> Result<InboxName, NotAnEvent> {
    text(payload, field)
        .parse()
        .map_err(|_| NotAnEvent::Session(field))
}

/// An event of which nothing is known yet but whose it is.
fn event(payload: &Map<String, Value>, id: InboxName, name: &str) -> Event {
    let cwd = text(payload, "cwd");
    Event {
        id,
        name: name.chars().take(64).collect(),
        cwd: (!cwd.is_empty()).then(|| cwd.to_owned()),
        subagent: !text(payload, "agent_id").is_empty(),
        happened: Happened::Seen,
        carries: false,
        decides: false,
    }
}

/// What a tool is asked to do, for a person: its name and its most telling argument.
fn request(payload: &Map<String, Value>) -> String {
    let tool = text(payload, "tool_name");
    let input = payload.get("tool_input").and_then(Value::as_object);
    let telling = [
        "command",
        "file_path",
        "path",
        "url",
        "description",
        "prompt",
    ];
    let argument = input.and_then(|input| {
        let found = telling
            .into_iter()
            .find_map(|field| input.get(field)?.as_str());
        found.map(str::to_owned)
    });
    match argument {
        Some(argument) => format!("{tool}: {argument}"),
        None => tool.to_owned(),
    }
}
