//! Qwen Code: hooks in Claude Code's format.

use hub_core::command::AgentEvent;
use hub_protocol::answer_in_refusal;
use serde_json::{Map, Value, json};

use super::{HookReply, InvalidSessionId, ParsedHook, answered_by_refusal, claude, text};

/// The tool that asks the person. Its dialog is the permission for the tool, which no hook can give.
const QUESTIONS: &str = "ask_user_question";
/// The tool that asks whether a plan is right.
const PLAN: &str = "exit_plan_mode";
/// Tools whose dialogs are always shown, whatever a hook allows.
const ALWAYS_SHOWN: [&str; 2] = [PLAN, "propose_goal"];

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let mut hook = answered_by_refusal(claude::parse_with(payload, happened)?);
    hook.delays_dialog = true;
    if ALWAYS_SHOWN.contains(&text(payload, "tool_name")) {
        hook.takes = None;
    }
    Ok(hook)
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // The results of tools are submitted as an empty prompt.
        "UserPromptSubmit" if text(payload, "prompt").is_empty() => AgentEvent::Worked,
        "PermissionRequest" if text(payload, "tool_name") == QUESTIONS => {
            claude::questions(payload)
        }
        "PermissionRequest" if text(payload, "tool_name") == PLAN => claude::plan(payload),
        // The tool starts, so its dialog was answered.
        "PreToolUse" => AgentEvent::Worked,
        other => claude::happened(other, payload),
    }
}

/// Qwen Code's Stop hook accepts context only as the reason to continue, and a question's answer only as the reason of a
/// denial.
pub(super) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    if let Some(answer) = &reply.answer() {
        let decision = json!({ "behavior": "deny", "message": answer_in_refusal(answer) });
        return Some(json!({
            "hookSpecificOutput": { "hookEventName": hook.name, "decision": decision }
        }));
    }
    super::codex::render(hook, reply)
}

#[cfg(test)]
mod tests {
    use super::*;

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
