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

const EVENTS: [&str; 10] = [
    "sessionStart",
    "sessionEnd",
    "userPromptSubmitted",
    "preToolUse",
    "permissionRequest",
    "postToolUse",
    "postToolUseFailure",
    "agentStop",
    "errorOccurred",
    "notification",
];

/// The tool that asks the person, as a regular expression.
const QUESTIONS: &str = "^ask_user$";

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Copilot);
    let node = |event: &str| {
        let holds = matches!(event, "preToolUse" | "permissionRequest");
        let mut node = json!({
            "type": "command",
            "bash": format!("{command} --event {event}"),
            "timeoutSec": if holds { 90 } else { 30 },
        });
        if event == "preToolUse" {
            // Each tool waits for its hook, so it runs only for questions, which the hub holds for an answer.
            node["matcher"] = QUESTIONS.into();
        }
        node
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
