//! Copilot CLI: a file of our own in its hooks directory. Its JSON does not name the event, so the
//! command line does.

use hub_protocol::Agent;
use serde_json::json;

use super::own::Invocation;
use super::scheme::{Allow, Files, Plan, Shape, entries};

pub(super) const FILES: Files = Files {
    moved: &[("COPILOT_HOME", "")],
    home: ".copilot",
    user: "hooks/hub.json",
    project: Some(".github/hooks/hub.json"),
    local: None,
};

const EVENTS: [&str; 7] = [
    "sessionStart",
    "sessionEnd",
    "userPromptSubmitted",
    "postToolUse",
    "agentStop",
    "errorOccurred",
    "notification",
];

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Copilot);
    let node = |event: &str| {
        json!({
            "type": "command",
            "bash": format!("{command} --event {event}"),
            "timeoutSec": 30,
        })
    };
    Plan {
        shape: Shape::Flat("bash"),
        entries: entries(&EVENTS, &node),
        allow: Allow::NOTHING,
        version: Some(1),
    }
}

pub(super) fn left_to_do() -> Vec<String> {
    vec!["restart the running sessions".to_owned()]
}
