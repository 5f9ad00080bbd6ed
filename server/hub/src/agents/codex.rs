//! Codex CLI: hooks in Claude Code's format, and `notify`, which reports the end of a turn.

use hub_core::command::AgentEvent;
use serde_json::{Map, Value, json};

use super::{
    HookReply, InvalidSessionId, ParsedHook, answered_by_refusal, claude, hook, refusal_with,
    session, stopped, text,
};

/// The tool that asks the person. Its dialog is shown after `PreToolUse`; no `PermissionRequest` reports it.
const QUESTIONS: &str = "request_user_input";

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    if text(payload, "type") == "agent-turn-complete" {
        let id = session(payload, "thread-id")?;
        let mut hook = hook(payload, id, "agent-turn-complete");
        hook.happened = stopped(text(payload, "last-assistant-message"));
        return Ok(hook);
    }
    let mut hook = answered_by_refusal(claude::parse_with(payload, happened)?);
    hook.delays_dialog = true;
    // In a subagent too.
    if hook.name == "Interrupt" {
        hook.happened = AgentEvent::Interrupted;
    }
    Ok(hook)
}

fn happened(name: &str, payload: &Map<String, Value>) -> AgentEvent {
    match name {
        // These events make notifications.
        "PreToolUse" if text(payload, "tool_name") == QUESTIONS => claude::questions(payload),
        "Stop" => claude::stopped(payload),
        "PermissionRequest" => claude::permission_request(payload),
        "SessionEnd" => claude::session_end(payload),
        // These change only the session's state.
        "SessionStart" => claude::session_start(payload),
        "UserPromptSubmit" => claude::prompt(text(payload, "prompt")),
        "PostToolUse" | "PostToolUseFailure" | "SubagentStop" => AgentEvent::Worked,
        // Codex does not report these today; they mean what they mean in Claude Code.
        other => claude::happened(other, payload),
    }
}

/// Codex's schemas refuse unknown fields, and its Stop hook accepts context only as the next prompt.
pub(super) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    if let Some(answer) = &reply.answer()
        && hook.name == "PreToolUse"
    {
        return Some(refusal_with(hook, answer));
    }
    match (hook.name.as_str(), reply.context) {
        ("Stop", Some(context)) => Some(json!({ "decision": "block", "reason": context })),
        ("agent-turn-complete" | "PostToolUseFailure", _) => None,
        (_, context) => claude::render(hook, HookReply { context, ..reply }),
    }
}
