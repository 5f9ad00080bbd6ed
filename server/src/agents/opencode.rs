//! `OpenCode`: the hub's plugin there forwards the agent's events unchanged, with the directory added.

use serde_json::{Map, Value, json};

use super::{Event, NotAnEvent, Words, event, session, text};
use crate::core::command::AgentEvent;
use crate::core::record::TurnCause;

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
        "session.created" => AgentEvent::Started,
        "chat.message" => AgentEvent::Prompt {
            by: TurnCause::Person,
            text: text(properties, "text").to_owned(),
        },
        "tool.execute.after" => AgentEvent::Worked,
        "session.idle" => AgentEvent::Stopped {
            text: text(payload, "last_assistant_message").to_owned(),
            tasks: Vec::new(),
            continues: false,
        },
        "question.asked" => AgentEvent::Asks {
            text: text(properties, "title").to_owned(),
            options: Vec::new(),
            data: json!({ "question": properties }),
        },
        "permission.asked" | "permission.updated" => AgentEvent::Permission {
            text: text(properties, "title").to_owned(),
            data: Some(json!({ "permission": properties })),
        },
        "session.error" => AgentEvent::Failed {
            reason: "error".into(),
            permanent: true,
        },
        "session.deleted" => AgentEvent::Ended,
        _ => AgentEvent::Seen,
    };
    Ok(event)
}

/// The answer that the hub's plugin reads: a text to prompt the session with.
pub(super) fn reply(_: &Event, words: Words) -> Option<Value> {
    Some(json!({ "prompt": words.context? }))
}
