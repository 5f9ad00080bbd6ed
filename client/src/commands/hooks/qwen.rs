//! Qwen Code: its `settings.json`, with hooks in Claude Code's format.

use hub_protocol::Agent;

use super::own::Invocation;
use super::scheme::{Allow, Files, Plan, Shape, entries, group, handler};

pub(super) const FILES: Files = Files {
    moved: &[("QWEN_HOME", "")],
    home: ".qwen",
    user: "settings.json",
    project: Some(".qwen/settings.json"),
    local: None,
};

const EVENTS: [&str; 11] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStop",
];

/// Rules for the commands that the instructions name.
const RULES: [&str; 4] = [
    "Bash(hubctl wait *)",
    "Bash(hubctl notify *)",
    "Bash(hubctl ask *)",
    "Bash(hubctl answer *)",
];

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Qwen);
    let node = |event| {
        let timeout = if event == "PermissionRequest" { 90 } else { 30 };
        group(None, &[handler(&command, timeout)])
    };
    Plan {
        shape: Shape::Grouped,
        entries: entries(&EVENTS, &node),
        allow: Allow {
            at: ["permissions", "allow"],
            rules: &RULES,
        },
        version: None,
    }
}

pub(super) fn left_to_do() -> Vec<String> {
    vec!["restart the running sessions".to_owned()]
}
