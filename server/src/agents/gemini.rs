//! Gemini CLI.

use serde_json::{Map, Value, json};

use super::{Event, NotAnEvent, Words, event, flag, request, session, text};
use crate::core::command::AgentEvent;
use crate::core::record::TurnCause;

pub(super) fn hear(payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
    let name = text(payload, "hook_event_name");
    let mut event = event(payload, session(payload, "session_id")?, name);
    event.carries = matches!(name, "BeforeAgent" | "AfterTool")
        || name == "AfterAgent" && !flag(payload, "stop_hook_active");
    event.happened = match name {
        "SessionStart" => AgentEvent::Started,
        "BeforeAgent" => AgentEvent::Prompt {
            by: TurnCause::Person,
            text: text(payload, "prompt").to_owned(),
        },
        "AfterTool" => AgentEvent::Worked,
        "AfterAgent" => AgentEvent::Stopped {
            text: text(payload, "prompt_response").to_owned(),
            tasks: Vec::new(),
            continues: false,
        },
        "Notification" if text(payload, "notification_type") == "ToolPermission" => {
            let asked = request(payload);
            let message = text(payload, "message");
            AgentEvent::Permission {
                text: if asked.is_empty() {
                    message.to_owned()
                } else {
                    asked
                },
                data: payload.get("details").cloned(),
            }
        }
        "SessionEnd" if text(payload, "reason") != "clear" => AgentEvent::Ended,
        _ => AgentEvent::Seen,
    };
    Ok(event)
}

pub(super) fn reply(event: &Event, words: Words) -> Option<Value> {
    let context = words.context?;
    if event.name == "AfterAgent" {
        // The reason of this denial becomes the next prompt.
        return Some(json!({ "decision": "deny", "reason": context }));
    }
    Some(json!({
        "hookSpecificOutput": { "hookEventName": event.name, "additionalContext": context }
    }))
}
