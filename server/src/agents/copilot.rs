//! Copilot CLI.

use serde_json::{Map, Value, json};

use super::{
    HookReply, InvalidSessionId, ParsedHook, claude, edited_by, flag, hook, prompted, session,
    stopped, text,
};
use crate::core::command::AgentEvent;

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = match text(payload, "hookEventName") {
        "" => text(payload, "hook_event_name"),
        name => name,
    };
    let is_first_stop = name == "agentStop" && !flag(payload, "stop_hook_active");
    let id = session(payload, "sessionId").or_else(|_| session(payload, "session_id"))?;
    Ok(ParsedHook {
        accepts_context: matches!(name, "userPromptSubmitted" | "postToolUse") || is_first_stop,
        happened: happened(name, payload),
        edited: match name {
            "postToolUse" => edited(payload),
            _ => Vec::new(),
        },
        ..hook(payload, id, name)
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "agentStop" => stopped(""),
        "errorOccurred" => AgentEvent::Failed {
            reason: text(payload, "error").to_owned(),
            permanent: true,
            until: None,
        },
        "sessionEnd" => AgentEvent::Ended,
        // These change only the session's state.
        "sessionStart" => claude::session_start(payload),
        "userPromptSubmitted" => prompted(text(payload, "prompt")),
        "postToolUse" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

/// The files that a successful tool call has edited. The arguments are an object, or its JSON as a text.
fn edited(payload: &Map<String, Value>) -> Vec<String> {
    let result = payload.get("toolResult").and_then(Value::as_object);
    let result = result.map_or("", |it| text(it, "resultType"));
    let given = payload.get("toolArgs").cloned().unwrap_or_default();
    let parsed = given.as_str().and_then(|it| serde_json::from_str(it).ok());
    match result {
        "failure" | "rejected" | "denied" => Vec::new(),
        _ => edited_by(text(payload, "toolName"), &parsed.unwrap_or(given)),
    }
}

pub(super) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    let context = reply.context?;
    if hook.name == "agentStop" {
        return Some(json!({ "decision": "block", "reason": context }));
    }
    Some(json!({ "additionalContext": context }))
}
