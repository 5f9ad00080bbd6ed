//! Gemini CLI.

use serde_json::{Map, Value, json};

use super::{Event, NotAnEvent, Words, event, flag, request, session, text};
use crate::core::command::Happened;
use crate::core::record::Beginner;

pub(super) fn hear(payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
    let name = text(payload, "hook_event_name");
    let mut event = event(payload, session(payload, "session_id")?, name);
    event.carries = matches!(name, "BeforeAgent" | "AfterTool")
        || name == "AfterAgent" && !flag(payload, "stop_hook_active");
    event.happened = match name {
        "SessionStart" => Happened::Started,
        "BeforeAgent" => Happened::Prompt {
            by: Beginner::Person,
            text: text(payload, "prompt").to_owned(),
        },
        "AfterTool" => Happened::Worked,
        "AfterAgent" => Happened::Stopped {
            text: text(payload, "prompt_response").to_owned(),
            tasks: Vec::new(),
            goes_on: false,
        },
        "Notification" if text(payload, "notification_type") == "ToolPermission" => {
            let asked = request(payload);
            let message = text(payload, "message");
            Happened::Permission {
                text: if asked.is_empty() {
                    message.to_owned()
                } else {
                    asked
                },
                data: payload.get("details").cloned(),
            }
        }
        "SessionEnd" if text(payload, "reason") != "clear" => Happened::Ended,
        _ => Happened::Seen,
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
