//! Cursor; experimental: written from its documentation, never tested against the program.

use serde_json::{Map, Value, json};

use super::{Event, NotAnEvent, Words, event, session, text};
use crate::core::command::AgentEvent;
use crate::core::record::TurnCause;

pub(super) fn hear(payload: &Map<String, Value>) -> Result<Event, NotAnEvent> {
    let name = text(payload, "hook_event_name");
    let mut event = event(payload, session(payload, "conversation_id")?, name);
    let roots = payload.get("workspace_roots").and_then(Value::as_array);
    event.cwd = roots.and_then(|roots| Some(roots.first()?.as_str()?.to_owned()));
    // A followup starts another turn, whose own stop raises the count. Answering only the first stop prevents a loop.
    let loops = payload
        .get("loop_count")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    event.carries = name == "stop" && loops == 0;
    event.happened = match name {
        "beforeSubmitPrompt" => AgentEvent::Prompt {
            by: TurnCause::Person,
            text: text(payload, "prompt").to_owned(),
        },
        "afterShellExecution" | "afterMCPExecution" | "afterFileEdit" => AgentEvent::Worked,
        "stop" if text(payload, "status") == "error" => AgentEvent::Failed {
            reason: "error".into(),
            permanent: true,
        },
        "stop" => AgentEvent::Stopped {
            text: String::new(),
            tasks: Vec::new(),
            continues: false,
        },
        "sessionEnd" => AgentEvent::Ended,
        _ => AgentEvent::Seen,
    };
    Ok(event)
}

pub(super) fn reply(_: &Event, words: Words) -> Option<Value> {
    Some(json!({ "followup_message": words.context? }))
}
