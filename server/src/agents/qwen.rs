//! Qwen Code: hooks in Claude Code's format.

use serde_json::{Map, Value};

use super::{HookReply, InvalidSessionId, ParsedHook, claude, text};
use crate::core::command::AgentEvent;

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    claude::parse_with(payload, happened)
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
