//! Kimi Code: tables in its `config.toml`.

use hub_protocol::Way;
use serde_json::{Map, Value, json};

use crate::acp::Acp;
use crate::claude;
use crate::event::AgentEvent;
use crate::facts::{Docs, Facts};
use crate::form::{
    Form, HookReply, InvalidSessionId, ParsedHook, answered_by_refusal, refusal_with, text,
};
use crate::settings::{Content, Event, Files, Settings};

pub(crate) static FACTS: Facts = Facts {
    name: "kimi",
    product: "Kimi Code",
    verified: &["@moonshot-ai/kimi-code@2.1.0"],
    docs: Docs {
        hooks: "`config.toml` of the user",
        limits: "a stop carries no text; no hooks for one project; a turn with a wake at its end goes on once",
    },
    ways: &[Way::Pane],
    held: &["PermissionRequest"],
    held_tool: Some(("PreToolUse", "AskUserQuestion")),
    stops: claude::STOPS,
    heartbeats: claude::HEARTBEATS,
    acp: Some(Acp {
        command: &["kimi", "acp"],
        limits: "a second prompt is refused; it edits without asking",
        ..Acp::NONE
    }),
    ..Facts::NONE
};

pub(crate) static SETTINGS: Settings = Settings {
    files: Files {
        moved: &[("KIMI_CODE_HOME", "")],
        home: ".kimi-code",
        user: "config.toml",
        project: None,
        local: None,
        beside: None,
    },
    content: Content::Tables(table, &EVENTS),
    left_to_do: &["restart the running sessions"],
    switches: &[],
    managed: None,
};

const EVENTS: [Event; 12] = [
    Event::within(30, "SessionStart"),
    Event::within(30, "SessionEnd"),
    Event::within(30, "UserPromptSubmit"),
    // Each tool waits for its hook, so it runs only for questions, which the hub holds for an answer.
    Event::within(90, "PreToolUse").of("^AskUserQuestion$"),
    Event::within(30, "PostToolUse"),
    Event::within(30, "PostToolUseFailure"),
    Event::within(30, "PermissionRequest"),
    Event::within(30, "PermissionResult"),
    Event::within(30, "Stop"),
    Event::within(30, "StopFailure"),
    Event::within(30, "SubagentStop"),
    Event::within(30, "Interrupt"),
];

fn table(event: &Event, command: &str) -> Value {
    let (name, timeout) = (event.name, event.timeout);
    match event.matcher {
        Some(matcher) => {
            json!({"event": name, "matcher": matcher, "command": command, "timeout": timeout})
        }
        None => json!({"event": name, "command": command, "timeout": timeout}),
    }
}

pub(crate) static FORM: Form = Form { parse, render };

/// The agent of the session itself, as permissions name it. Any other is a subagent.
const MAIN: &str = "main";

pub(crate) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
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
pub(crate) fn render(hook: &ParsedHook, reply: HookReply) -> Option<Value> {
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
