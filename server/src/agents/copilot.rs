//! Copilot CLI; experimental: written from its documentation, never tested against the program.

use serde_json::{Map, Value, json};

use super::{HookReply, InvalidSessionId, ParsedHook, hook, prompted, session, stopped, text};
use crate::core::command::Happened;

pub(super) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = match text(payload, "hookEventName") {
        "" => text(payload, "hook_event_name"),
        name => name,
    };
    let id = session(payload, "sessionId").or_else(|_| session(payload, "session_id"))?;
    Ok(ParsedHook {
        accepts_context: matches!(name, "agentStop" | "notification"),
        happened: happened(name, payload),
        ..hook(payload, id, name)
    })
}

fn happened(name: &str, payload: &Map<String, Value>) -> Happened {
    match name {
        // These events make notifications.
        "agentStop" => stopped(""),
        "errorOccurred" => Happened::Failed {
            reason: text(payload, "error").to_owned(),
            for_good: true,
        },
        "sessionEnd" => Happened::Ended,
        // These change only the session's state.
        "sessionStart" => Happened::Started,
        "userPromptSubmitted" => prompted(text(payload, "prompt")),
        "postToolUse" => Happened::Worked,
        _ => Happened::Seen,
    }
}

pub(super) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
    let context = reply.context?;
    if hook.name == "agentStop" {
        return Some(json!({ "decision": "block", "reason": context }));
    }
    Some(json!({ "additionalContext": context }))
}
