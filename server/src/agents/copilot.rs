//! Copilot CLI.

use serde_json::{Map, Value, json};

use super::{
    HookReply, InvalidSessionId, ParsedHook, flag, hook, prompted, session, stopped, text,
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
        "sessionStart" => AgentEvent::Started,
        "userPromptSubmitted" => prompted(text(payload, "prompt")),
        "postToolUse" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

pub(super) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    let context = reply.context?;
    if hook.name == "agentStop" {
        return Some(json!({ "decision": "block", "reason": context }));
    }
    Some(json!({ "additionalContext": context }))
}
