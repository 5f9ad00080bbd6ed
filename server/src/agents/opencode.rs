//! `OpenCode`: the hub's plugin there forwards the agent's events unchanged, with the directory added.

use serde_json::{Map, Value, json};

use super::{HookReply, InvalidSessionId, ParsedHook, hook, prompted, session, stopped, text};
use crate::core::command::AgentEvent;

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "type");
    let empty = Map::new();
    let properties = payload.get("properties").and_then(Value::as_object);
    let properties = properties.unwrap_or(&empty);
    let id = session(payload, "session_id").or_else(|_| session(properties, "sessionID"))?;
    Ok(ParsedHook {
        // The plugin can deliver text only as a prompt, so only an idle session takes it.
        accepts_context: name == "session.idle",
        happened: happened(name, payload, properties),
        ..hook(payload, id, name)
    })
}

fn happened(
    name: &str,
    payload: &Map<String, Value>,
    properties: &Map<String, Value>,
) -> AgentEvent {
    match name {
        // These events make notifications.
        "session.idle" => stopped(text(payload, "last_assistant_message")),
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
        // These change only the session's state.
        "session.created" => AgentEvent::Started,
        "chat.message" => prompted(text(properties, "text")),
        "tool.execute.after" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

/// The answer that the hub's plugin reads: a text to prompt the session with.
pub(super) fn render(_: &ParsedHook, reply: HookReply) -> Option<Value> {
    Some(json!({ "prompt": reply.context? }))
}
