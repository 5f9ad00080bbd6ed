//! Gemini CLI: its `settings.json`, with timeouts in milliseconds.

use hub_protocol::Agent;
use serde_json::json;

use super::own::Invocation;
use super::scheme::{Allow, Files, Plan, Shape, entries, group};

pub(super) const FILES: Files = Files {
    moved: &[("GEMINI_CLI_HOME", ".gemini")],
    home: ".gemini",
    user: "settings.json",
    project: Some(".gemini/settings.json"),
    local: None,
};

const EVENTS: [&str; 6] = [
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "AfterTool",
    "Notification",
];

/// Rules for the commands that the instructions name. A rule is a prefix of a command, so it cannot be narrower.
const RULES: [&str; 4] = [
    "run_shell_command(hubctl wait)",
    "run_shell_command(hubctl notify)",
    "run_shell_command(hubctl ask)",
    "run_shell_command(hubctl answer)",
];

/// The name of our hooks, by which Gemini's `/hooks` switches them off.
pub(super) const NAME: &str = "hub";

const TIMEOUT_MS: u32 = 30_000;

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Gemini);
    let node = |_| {
        let handler = json!({
            "name": NAME,
            "type": "command",
            "command": command,
            "timeout": TIMEOUT_MS,
        });
        group(None, &[handler])
    };
    Plan {
        shape: Shape::Grouped,
        entries: entries(&EVENTS, &node),
        allow: Allow {
            at: ["tools", "allowed"],
            rules: &RULES,
        },
        version: None,
    }
}

pub(super) fn left_to_do() -> Vec<String> {
    vec![
        "restart the running sessions".to_owned(),
        "check /hooks panel in Gemini: hooks can be disabled there".to_owned(),
    ]
}
