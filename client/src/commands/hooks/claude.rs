//! Claude Code: its `settings.json`, with rewake hooks.

use hub_protocol::{Agent, WAKE_FILE, WAKE_MARK};
use serde_json::{Value, json};

use super::own::Invocation;
use super::scheme::{Allow, Entry, Files, Plan, Shape, entries, group, handler};
use crate::identity::Context;
use crate::settings::Address;

pub(super) const FILES: Files = Files {
    moved: &[("CLAUDE_CONFIG_DIR", "")],
    home: ".claude",
    user: "settings.json",
    project: Some(".claude/settings.json"),
    local: Some(".claude/settings.local.json"),
};

const EVENTS: [&str; 13] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Elicitation",
    "ElicitationResult",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStop",
];

/// The matcher of an event, which limits the hook to what the hub needs.
fn matcher(event: &str) -> Option<&'static str> {
    match event {
        // The tools that ask the person are reported by the hooks of their dialogs.
        "PreToolUse" => Some("^(?!(?:AskUserQuestion|EnterPlanMode|ExitPlanMode)$)"),
        "Notification" => {
            Some("idle_prompt|permission_prompt|agent_needs_input|elicitation_dialog")
        }
        _ => None,
    }
}

/// Rules for the commands that the instructions name. A rule is a prefix of a command, so it cannot be narrower.
pub(super) const RULES: [&str; 4] = [
    "Bash(hubctl wait:*)",
    "Bash(hubctl notify:*)",
    "Bash(hubctl ask:*)",
    "Bash(hubctl answer:*)",
];

/// Timeout in seconds; a hook ends long before it.
const TIMEOUT: u32 = 30;

/// Timeout in seconds; the hub holds a dialog's hook for at most an hour.
const DIALOG_TIMEOUT: u32 = 3_630;

/// Timeout in seconds: a day. The waiter ends by itself shortly before.
const REWAKE_TIMEOUT: u32 = 86_400;

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Claude);
    let node = |event| {
        let timeout = match event {
            "PermissionRequest" | "Elicitation" => DIALOG_TIMEOUT,
            _ => TIMEOUT,
        };
        let mut handlers = vec![match event {
            "PreToolUse" => in_background(&command),
            _ => handler(&command, timeout),
        }];
        if invocation.rewake && ["SessionStart", "Stop"].contains(&event) {
            handlers.push(rewake(invocation));
        }
        group(matcher(event), &handlers)
    };
    let mut entries = entries(&EVENTS, &node);
    if invocation.rewake {
        entries.push(Entry {
            event: "FileChanged",
            node: group(Some(WAKE_FILE), &[rewake(invocation)]),
        });
    }
    Plan {
        shape: Shape::Grouped,
        entries,
        allow: Allow {
            at: ["permissions", "allow"],
            rules: &RULES,
        },
        version: None,
    }
}

/// A handler that delays no tool call, because the hub only notes that the call began.
fn in_background(command: &str) -> Value {
    json!({"type": "command", "command": command, "async": true, "timeout": TIMEOUT})
}

fn rewake(invocation: &Invocation) -> Value {
    json!({
        "type": "command",
        "command": invocation.rewake(),
        "asyncRewake": true,
        "timeout": REWAKE_TIMEOUT,
        "rewakeSummary": WAKE_MARK,
        "rewakeMessage": "The hub woke this session: notifications arrived for it.",
    })
}

pub(super) fn left_to_do(context: &Context) -> Vec<String> {
    let mut all =
        vec!["restart the running sessions: Claude Code reads its hooks when it starts".to_owned()];
    if let Address::Socket(socket) = &context.settings.address.value {
        all.push(format!(
            "if its sandbox is on, let commands reach the hub: in settings.json, sandbox.network, \
             \"allowAllUnixSockets\": true on Linux, \"allowUnixSockets\": [\"{}\"] on macOS",
            socket.display()
        ));
    }
    all
}
