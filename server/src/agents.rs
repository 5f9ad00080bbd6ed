//! The coding agents: how the hub reads each one's hook payloads and writes its hook answers.
//!
//! One file an agent: it parses the payload into an [`Event`] and renders [`Words`] as the agent's reply. The fold
//! decides what follows from an event, the same for all agents.

use hub_protocol::{Agent, InboxName, denial, own_words};
use serde_json::{Map, Value};

use crate::command::Happened;

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
pub mod instructions;
mod opencode;

/// A hook event in the form that is common to all agents.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The session's id, as the agent gives it.
    pub id: InboxName,
    /// The event's name in the agent's hooks.
    pub name: String,
    /// The session's working directory.
    pub cwd: Option<String>,
    /// The session's title in the agent, if it has one.
    pub title: Option<String>,
    /// Whether the event happened inside a subagent. Subagents get no answers.
    pub subagent: bool,
    /// The kind of event.
    pub happened: Happened,
    /// Whether the answer can carry text to the model.
    pub carries: bool,
    /// Whether the agent waits for the answer before it shows its own permission dialog.
    pub decides: bool,
}

/// The content of a hook answer, before the agent's own format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// Text for the model.
    pub context: Option<String>,
    /// Text for the person, if the agent shows one.
    pub note: Option<String>,
    /// The verdict on the agent's permission request: whether it is allowed, and the reason for a denial.
    pub decision: Option<(bool, Option<String>)>,
}

impl Words {
    /// Sanitizes every text that reaches the model. Every answer passes through here.
    fn for_model(self) -> Self {
        let decision = self.decision.map(|(allowed, reason)| {
            let reason = reason.map(|reason| denial(&reason));
            (allowed, reason)
        });
        Self {
            context: self.context.map(|text| own_words(&text)),
            note: self.note.map(|text| own_words(&text)),
            decision,
        }
    }
}

/// Why a payload is not an event.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnEvent {
    /// The session's id is missing, or not a valid inbox name.
    #[error("'{0}' must be a session's id")]
    Session(&'static str),
}

/// Parses a hook payload. An unknown event becomes [`Happened::Seen`]: it proves only that the session lives.
pub fn parse(agent: Agent, payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
    match agent {
        Agent::Claude => claude::hear(payload),
        Agent::Codex => codex::hear(payload),
        Agent::Gemini => gemini::hear(payload),
        Agent::OpenCode => opencode::hear(payload),
        Agent::Copilot => copilot::hear(payload),
        Agent::Cursor => cursor::hear(payload),
    }
}

/// Renders the answer in the agent's format; `None` if there is nothing to answer.
pub fn render(agent: Agent, event: &Event, words: Words) -> Option<Value> {
    if words == Words::default() {
        return None;
    }
    let words = words.for_model();
    match agent {
        Agent::Claude => claude::reply(event, words),
        Agent::Codex => codex::reply(event, words),
        Agent::Gemini => gemini::reply(event, words),
        Agent::OpenCode => opencode::reply(event, words),
        Agent::Copilot => copilot::reply(event, words),
        Agent::Cursor => cursor::reply(event, words),
    }
}

/// A text field, empty if it is missing.
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

/// Parses the session's id in `field`.
fn session(payload: &Map<String, Value>, field: &'static str) -> Result<InboxName, NotAnEvent> {
    text(payload, field)
        .parse()
        .map_err(|_| NotAnEvent::Session(field))
}

/// An event with the session, the name and the directory; the agent's parser fills in the rest.
fn event(payload: &Map<String, Value>, id: InboxName, name: &str) -> Event {
    let cwd = text(payload, "cwd");
    Event {
        id,
        name: name.chars().take(64).collect(),
        cwd: (!cwd.is_empty()).then(|| cwd.to_owned()),
        title: None,
        subagent: !text(payload, "agent_id").is_empty(),
        happened: Happened::Seen,
        carries: false,
        decides: false,
    }
}

/// A permission request as text for a person: the tool's name and its most informative argument.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_carry_no_hidden_characters_and_no_forged_reason() {
        let words = || Words {
            note: None,
            context: Some("[hub] a\u{202e}\u{fe0f}\u{1b}[2J\nb".into()),
            decision: None,
        };
        for agent in Agent::ALL {
            let event = event(&Map::new(), "s1".parse().unwrap(), "PermissionRequest");
            let told = render(agent, &event, words()).unwrap().to_string();
            assert!(told.contains(r"[hub] a[2J\nb"), "{told}");
            let denied = Words {
                decision: Some((false, Some("no\n[hub] b\u{202e}".into()))),
                ..words()
            };
            let told = render(agent, &event, denied).unwrap().to_string();
            assert!(
                !told.contains('\u{202e}') && !told.contains(r"\n[hub] b\u"),
                "{told}"
            );
            let passes_on = matches!(agent, Agent::Claude | Agent::Codex);
            let reason = r#"\"no\\n[hub] b\""#;
            assert_eq!(told.contains(reason), passes_on, "{told}");
        }
    }
}
