//! Gemini CLI: its `settings.json`, with timeouts in milliseconds.

use hub_protocol::Agent;

use super::own::Invocation;
use super::scheme::{Allow, Files, Plan, Shape, entries, group};
use super::tree::Node;

pub(super) const FILES: Files = Files {
    moved: &[],
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

const TIMEOUT_MS: u32 = 30_000;

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Gemini);
    let node = |_| {
        let handler = Node::object_of([
            ("name", Node::of(&"hub")),
            ("type", Node::of(&"command")),
            ("command", Node::of(&command)),
            ("timeout", Node::of(&TIMEOUT_MS)),
        ]);
        group(None, vec![handler])
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
