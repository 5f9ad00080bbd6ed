//! Codex CLI: its `hooks.json`.

use hub_protocol::Agent;

use super::own::Invocation;
use super::scheme::{Allow, Files, Plan, Shape, entries, group, handler};
use crate::identity::Context;
use crate::settings::Address;

pub(super) const FILES: Files = Files {
    moved: &[("CODEX_HOME", "")],
    home: ".codex",
    user: "hooks.json",
    project: Some(".codex/hooks.json"),
    local: None,
};

const EVENTS: [&str; 8] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PostToolUse",
    "PermissionRequest",
    "Stop",
    "SubagentStop",
    "Interrupt",
];

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Codex);
    let node = |event| {
        let timeout = if event == "PermissionRequest" { 90 } else { 30 };
        group(None, vec![handler(&command, timeout)])
    };
    Plan {
        shape: Shape::Grouped,
        entries: entries(&EVENTS, &node),
        allow: Allow::NOTHING,
        version: None,
    }
}

pub(super) fn left_to_do(context: &Context) -> Vec<String> {
    let mut all = vec![
        "trust the hooks: Codex runs none until then; start it and review them with /hooks"
            .to_owned(),
        "restart the running sessions".to_owned(),
    ];
    if let Address::Socket(socket) = &context.settings.address.value {
        all.push(format!(
            "its sandbox blocks {}: commands use the status file instead, unless you allow the sandbox network access",
            socket.display()
        ));
    }
    all
}
