//! `OpenCode`: the hub's plugin there forwards the agent's events unchanged, with the directory added.

use serde_json::{Map, Value, json};

use super::{Event, NotAnEvent, Words, event, session, text};
use crate::core::command::Happened;
use crate::core::record::Beginner;

pub(super) fn hear(payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
    let name = text(payload, "type");
    let empty = Map::new();
    let properties = payload
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let id = session(payload, "session_id").or_else(|_| session(properties, "sessionID"))?;
    let mut event = event(payload, id, name);
    // The plugin can deliver text only as a prompt, so only an idle session takes it.
    event.carries = name == "session.idle";
    event.happened = match name {
        "session.created" => Happened::Started,
        "chat.message" => Happened::Prompt {
            by: Beginner::Person,
            text: text(properties, "text").to_owned(),
        },
        "tool.execute.after" => Happened::Worked,
        "session.idle" => Happened::Stopped {
            text: text(payload, "last_assistant_message").to_owned(),
            tasks: Vec::new(),
            goes_on: false,
        },
        "question.asked" => Happened::Asks {
            text: text(properties, "title").to_owned(),
            options: Vec::new(),
            data: json!({ "question": properties }),
        },
        "permission.asked" | "permission.updated" => Happened::Permission {
            text: text(properties, "title").to_owned(),
            data: Some(json!({ "permission": properties })),
        },
        "session.error" => Happened::Failed {
            reason: "error".into(),
            for_good: true,
        },
        "session.deleted" => Happened::Ended,
        _ => Happened::Seen,
    };
    Ok(event)
}

/// The answer that the hub's plugin reads: a text to prompt the session with.
pub(super) fn reply(_: &Event, words: Words) -> Option<Value> {
    Some(json!({ "prompt": words.context? }))
}
