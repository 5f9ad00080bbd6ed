//! Qwen Code: hooks in Claude Code's format.

use serde_json::{Map, Value};

use super::{HookReply, InvalidSessionId, ParsedHook, claude, text};
use crate::core::command::AgentEvent;

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    Ok(ParsedHook {
        delays_dialog: true,
        ..claude::parse_with(payload, happened)?
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // The results of tools are submitted as an empty prompt.
        "UserPromptSubmit" if text(payload, "prompt").is_empty() => AgentEvent::Worked,
        other => claude::happened(other, payload),
    }
}

/// Qwen Code's Stop hook accepts context only as the reason to continue.
pub(super) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    super::codex::render(hook, reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_results_of_tools_are_not_a_prompt() {
        let event = |prompt: &str| {
            let payload = json!({
                "hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": prompt,
            });
            parse(payload.as_object().unwrap()).unwrap().happened
        };
        assert_eq!(event(""), AgentEvent::Worked);
        assert!(matches!(event("Hello"), AgentEvent::Prompt { .. }));
    }
}
