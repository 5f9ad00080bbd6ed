//! Cursor; experimental: written from its documentation, not run.

use hub_core::command::AgentEvent;
use serde_json::{Map, Value, json};

use super::{HookReply, InvalidSessionId, ParsedHook, hook, prompted, session, stopped, text};

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "hook_event_name");
    let roots = payload.get("workspace_roots").and_then(Value::as_array);
    let loops = payload.get("loop_count").and_then(Value::as_u64);
    Ok(ParsedHook {
        cwd: roots.and_then(|roots| Some(roots.first()?.as_str()?.to_owned())),
        // A followup starts another turn, whose own stop raises the count. Answering only the first stop prevents a
        // loop.
        accepts_context: name == "stop" && loops.unwrap_or(0) == 0,
        happened: happened(name, payload),
        edited: match name {
            "afterFileEdit" => vec![text(payload, "file_path").to_owned()],
            _ => Vec::new(),
        },
        ..hook(payload, session(payload, "conversation_id")?, name)
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "stop" if text(payload, "status") == "error" => AgentEvent::Failed {
            reason: "error".into(),
            permanent: true,
            until: None,
        },
        "stop" => stopped(""),
        "sessionEnd" => AgentEvent::Ended,
        // These change only the session's state.
        "beforeSubmitPrompt" => prompted(text(payload, "prompt")),
        "afterShellExecution" | "afterMCPExecution" | "afterFileEdit" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

pub(super) fn render(_: &ParsedHook, reply: HookReply) -> Option<Value> {
    Some(json!({ "followup_message": reply.context? }))
}
