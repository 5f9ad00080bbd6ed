//! Copilot CLI; experimental: written from its documentation, never tested against the program.

use serde_json::{Map, Value, json};

use super::{Event, NotAnEvent, Words, event, session, text};
use crate::core::command::AgentEvent;
use crate::core::record::TurnCause;

pub(super) fn hear(payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
    let name = match text(payload, "hookEventName") {
        "" => text(payload, "hook_event_name"),
        name => name,
    };
    let id = session(payload, "sessionId").or_else(|_| session(payload, "session_id"))?;
    let mut event = event(payload, id, name);
    event.carries = matches!(name, "agentStop" | "notification");
    event.happened = match name {
        "sessionStart" => AgentEvent::Started,
        "userPromptSubmitted" => AgentEvent::Prompt {
            by: TurnCause::Person,
            text: text(payload, "prompt").to_owned(),
        },
        "postToolUse" => AgentEvent::Worked,
        "agentStop" => AgentEvent::Stopped {
            text: String::new(),
            tasks: Vec::new(),
            continues: false,
        },
        "errorOccurred" => AgentEvent::Failed {
            reason: text(payload, "error").to_owned(),
            permanent: true,
        },
        "sessionEnd" => AgentEvent::Ended,
        _ => AgentEvent::Seen,
    };
    Ok(event)
}

pub(super) fn reply(event: &Event, words: Words) -> Option<Value> {
    let context = words.context?;
    if event.name == "agentStop" {
        return Some(json!({ "decision": "block", "reason": context }));
    }
    Some(json!({ "additionalContext": context }))
}
