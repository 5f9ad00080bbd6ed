//! Gemini CLI: `settings.json`; timeouts in milliseconds.

use super::own::Caller;
use super::scheme::{Files, Plan, Shape, entries, group};
use super::tree::Node;
use crate::agent::Agent;

pub(super) const FILES: Files = Files {
    moved: &[],
    home: ".gemini",
    user: "settings.json",
    project: ".gemini/settings.json",
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

const TIMEOUT_MS: u32 = 30_000;

pub(super) fn plan(caller: &Caller) -> Plan {
    let command = caller.hook(Agent::Gemini);
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
        allow: &[],
        version: None,
    }
}

pub(super) fn left_to_do() -> Vec<String> {
    vec![
        "restart the sessions that run now".to_owned(),
        "look at /hooks panel in Gemini: hooks can be switched off there".to_owned(),
    ]
}
