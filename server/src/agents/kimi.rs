//! Kimi Code: hooks with Claude Code's event names, and answers of its own.

use serde_json::{Map, Value, json};

use super::{HookReply, InvalidSessionId, ParsedHook, claude, text};
use crate::core::command::AgentEvent;

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    Ok(ParsedHook {
        // It waits for the answers to these two. It reads no decision on a permission.
        accepts_context: matches!(
            text(payload, "hook_event_name"),
            "UserPromptSubmit" | "Stop"
        ),
        takes: None,
        ..claude::parse_with(payload, happened)?
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        "UserPromptSubmit" => claude::prompt(&prompt(payload)),
        "Interrupt" => AgentEvent::Interrupted,
        other => claude::happened(other, payload),
    }
}

/// The texts of a prompt, which is a list of parts.
fn prompt(payload: &Map<String, Value>) -> String {
    let parts = payload.get("prompt").and_then(Value::as_array);
    let texts = parts.into_iter().flatten();
    let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// The reason of a denial at the end of a turn becomes the next prompt. Kimi Code allows that once a turn.
pub(super) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    let context = reply.context?;
    Some(match hook.name.as_str() {
        "Stop" => json!({
            "hookSpecificOutput": {
                "permissionDecision": "deny", "permissionDecisionReason": context,
            }
        }),
        _ => json!({ "message": context }),
    })
}
