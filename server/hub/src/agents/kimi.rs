//! Kimi Code: hooks with Claude Code's event names, and answers of its own.

use hub_core::command::AgentEvent;
use serde_json::{Map, Value, json};

use super::{
    HookReply, InvalidSessionId, ParsedHook, answered_by_refusal, claude, refusal_with, text,
};

/// The agent of the session itself, as permissions name it. Any other is a subagent.
const MAIN: &str = "main";

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let payload = &in_claudes_terms(payload);
    let name = text(payload, "hook_event_name");
    // Kimi Code waits for the answers to these two, and to a tool call that begins. It reads no decision on a permission.
    let accepts_context = matches!(name, "UserPromptSubmit" | "Stop");
    let hook = ParsedHook {
        accepts_context,
        takes: None,
        ..claude::parse_with(payload, happened)?
    };
    Ok(match name {
        "PreToolUse" => answered_by_refusal(hook),
        _ => hook,
    })
}

/// The payload with the names that Claude Code gives the same things.
fn in_claudes_terms(payload: &Map<String, Value>) -> Map<String, Value> {
    let mut payload = payload.clone();
    if text(&payload, "agent_id") == MAIN {
        payload.remove("agent_id");
    }
    let questions = payload
        .get_mut("tool_input")
        .and_then(|it| it.get_mut("questions"));
    let questions = questions
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for question in questions.filter_map(Value::as_object_mut) {
        if let Some(several) = question.remove("multi_select") {
            question.insert("multiSelect".into(), several);
        }
    }
    payload
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        "UserPromptSubmit" => claude::prompt(&prompt(payload)),
        "Interrupt" => AgentEvent::Interrupted,
        // The person decided, and the tool runs or is refused.
        "PermissionResult" => AgentEvent::Worked,
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
    if let Some(answer) = &reply.answer() {
        return Some(refusal_with(hook, answer));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str, agent: &str) -> ParsedHook {
        let payload = json!({
            "hook_event_name": name, "session_id": "s1", "agent_id": agent, "tool_name": "Bash",
            "tool_input": { "command": "ls" }, "tool_call_id": "t1", "decision": "approved",
        });
        parse(payload.as_object().unwrap()).unwrap()
    }

    #[test]
    fn a_permission_of_the_main_agent_is_the_sessions_own() {
        for (agent, subagent) in [("main", None), ("agent-0", Some("agent-0"))] {
            let asked = parsed("PermissionRequest", agent);
            assert_eq!(asked.subagent.as_deref(), subagent);
            assert!(matches!(asked.happened, AgentEvent::Permission { .. }));
            let decided = parsed("PermissionResult", agent);
            assert_eq!(decided.subagent.as_deref(), subagent);
            assert_eq!(decided.happened, AgentEvent::Worked);
        }
    }
}
