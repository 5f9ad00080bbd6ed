//! Codex CLI: hooks in Claude Code's format, and `notify`, which reports the end of a turn.

use serde_json::{Map, Value, json};

use super::{Event, NotAnEvent, Words, claude, event, session, text};
use crate::core::command::AgentEvent;

pub(super) fn hear(payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
    if text(payload, "type") == "agent-turn-complete" {
        let mut event = event(
            payload,
            session(payload, "thread-id")?,
            "agent-turn-complete",
        );
        event.happened = AgentEvent::Stopped {
            text: text(payload, "last-assistant-message").to_owned(),
            tasks: Vec::new(),
            continues: false,
        };
        return Ok(event);
    }
    let mut event = claude::hear(payload)?;
    if event.name == "Interrupt" {
        event.happened = AgentEvent::Interrupted;
    }
    Ok(event)
}

/// Codex's schemas refuse unknown fields, and its Stop hook accepts context only as the next prompt.
pub(super) fn reply(event: &Event, words: Words) -> Option<Value> {
    match (event.name.as_str(), words.context) {
        ("Stop", Some(context)) => Some(json!({ "decision": "block", "reason": context })),
        ("agent-turn-complete" | "PostToolUseFailure", _) => None,
        (_, context) => claude::reply(event, Words { context, ..words }),
    }
}
