//! Gemini CLI.

use hub_core::command::AgentEvent;
use hub_core::line;
use serde_json::{Map, Value, json};

use super::{
    HookReply, InvalidSessionId, ParsedHook, claude, edited, flag, hook, prompted, session,
    stopped, text,
};

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "hook_event_name");
    let is_first_stop = name == "AfterAgent" && !flag(payload, "stop_hook_active");
    Ok(ParsedHook {
        accepts_context: matches!(name, "BeforeAgent" | "AfterTool") || is_first_stop,
        happened: happened(name, payload),
        edited: match name {
            "AfterTool" => edited(payload),
            _ => Vec::new(),
        },
        ..hook(payload, session(payload, "session_id")?, name)
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "AfterAgent" => stopped(text(payload, "prompt_response")),
        "Notification" if text(payload, "notification_type") == "ToolPermission" => {
            let details = payload.get("details").cloned();
            let request = details.as_ref().and_then(line::of_request);
            AgentEvent::Permission {
                text: request.unwrap_or_else(|| text(payload, "message").to_owned()),
                data: details,
            }
        }
        "SessionEnd" => claude::session_end(payload),
        // These change only the session's state.
        "SessionStart" => claude::session_start(payload),
        "BeforeAgent" => prompted(text(payload, "prompt")),
        "AfterTool" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

pub(super) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    let context = reply.context?;
    if hook.name == "AfterAgent" {
        // The reason of this denial becomes the next prompt.
        return Some(json!({ "decision": "deny", "reason": context }));
    }
    Some(json!({
        "hookSpecificOutput": { "hookEventName": hook.name, "additionalContext": context }
    }))
}
