//! Kimi Code: tables in its `config.toml`.

use hub_protocol::Agent;
use serde_json::{Value, json};

use super::own::Invocation;
use super::scheme::Files;

pub(super) const FILES: Files = Files {
    moved: &[("KIMI_CODE_HOME", "")],
    home: ".kimi-code",
    user: "config.toml",
    project: None,
    local: None,
};

const EVENTS: [&str; 12] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionResult",
    "Stop",
    "StopFailure",
    "SubagentStop",
    "Interrupt",
];

/// The tool that asks the person, as a regular expression.
const QUESTIONS: &str = "^AskUserQuestion$";

/// One table for each event.
pub(super) fn tables(invocation: &Invocation) -> Vec<Value> {
    let command = invocation.hook(Agent::Kimi);
    let table = |event| match event {
        // Each tool waits for its hook, so it runs only for questions, which the hub holds for an answer.
        "PreToolUse" => {
            json!({"event": event, "matcher": QUESTIONS, "command": command, "timeout": 90})
        }
        _ => json!({"event": event, "command": command, "timeout": 30}),
    };
    EVENTS.map(table).into()
}

pub(super) fn left_to_do() -> Vec<String> {
    vec!["restart the running sessions".to_owned()]
}
