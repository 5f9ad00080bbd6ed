//! Cursor (experimental): its `hooks.json`.

use hub_protocol::Agent;
use serde_json::json;

use super::own::Invocation;
use super::scheme::{Allow, Files, Plan, Shape, entries};

pub(super) const FILES: Files = Files {
    moved: &[],
    home: ".cursor",
    user: "hooks.json",
    project: Some(".cursor/hooks.json"),
    local: None,
};

const EVENTS: [&str; 4] = ["sessionStart", "sessionEnd", "beforeSubmitPrompt", "stop"];

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Cursor);
    let node = |_: &str| json!({"command": command});
    Plan {
        shape: Shape::Flat("command"),
        entries: entries(&EVENTS, &node),
        allow: Allow::NOTHING,
        version: Some(1),
    }
}

pub(super) fn left_to_do() -> Vec<String> {
    vec!["restart Cursor".to_owned()]
}
