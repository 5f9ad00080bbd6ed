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

const EVENTS: [&str; 10] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Stop",
    "StopFailure",
    "SubagentStop",
    "Interrupt",
];

/// One table for each event.
pub(super) fn tables(invocation: &Invocation) -> Vec<Value> {
    let command = invocation.hook(Agent::Kimi);
    let table = |event| json!({"event": event, "command": command, "timeout": 30});
    EVENTS.map(table).into()
}

pub(super) fn left_to_do() -> Vec<String> {
    vec!["restart the running sessions".to_owned()]
}
