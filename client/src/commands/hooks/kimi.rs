//! Kimi Code: tables in its `config.toml`.

use std::fmt::Write as _;

use hub_protocol::Agent;
use serde_json::Value;

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

/// One table for each event. A JSON string is a string of TOML too.
pub(super) fn tables(invocation: &Invocation) -> String {
    let command = Value::from(invocation.hook(Agent::Kimi));
    let mut text = String::new();
    for event in EVENTS {
        let _ = write!(
            text,
            "[[hooks]]\nevent = \"{event}\"\ncommand = {command}\ntimeout = 30\n"
        );
    }
    text
}

pub(super) fn left_to_do() -> Vec<String> {
    vec!["restart the running sessions".to_owned()]
}
