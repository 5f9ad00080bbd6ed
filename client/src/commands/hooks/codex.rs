//! Codex CLI: its `hooks.json`. Codex also runs the hooks in the `config.toml` beside it, to which the person may have
//! moved ours.

use std::fs;
use std::path::{Path, PathBuf};

use hub_protocol::Agent;
use serde_json::Value;

use super::change::Change;
use super::file::SettingsFile;
use super::own::{Invocation, OwnCommand};
use super::scheme::{Allow, Files, Plan, Shape, entries, group, handler};
use super::tables;
use crate::identity::Context;
use crate::settings::Address;

pub(super) const FILES: Files = Files {
    moved: &[("CODEX_HOME", "")],
    home: ".codex",
    user: "hooks.json",
    project: Some(".codex/hooks.json"),
    local: None,
};

const EVENTS: [&str; 9] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PermissionRequest",
    "Stop",
    "SubagentStop",
    "Interrupt",
];

/// The tool that asks the person, as a regular expression.
const QUESTIONS: &str = "^request_user_input$";

pub(super) fn plan(invocation: &Invocation) -> Plan {
    let command = invocation.hook(Agent::Codex);
    let node = |event| match event {
        // Each tool waits for its hook, so it runs only for questions, which the hub holds for an answer.
        "PreToolUse" => group(Some(QUESTIONS), &[handler(&command, 90)]),
        "PermissionRequest" => group(None, &[handler(&command, 90)]),
        // Codex allows these no more, and warns of more at each start.
        "SessionEnd" | "Interrupt" => group(None, &[handler(&command, 3)]),
        _ => group(None, &[handler(&command, 30)]),
    };
    Plan {
        shape: Shape::Grouped,
        entries: entries(&EVENTS, &node),
        allow: Allow::NOTHING,
        version: None,
    }
}

/// The `config.toml` beside the file `hooks`.
pub(super) fn config(hooks: &Path) -> PathBuf {
    hooks.with_file_name("config.toml")
}

/// A command of ours in the `config.toml` beside the file `hooks` of the agent, if that is Codex.
pub(super) fn moved(agent: Agent, hooks: &Path) -> Option<OwnCommand> {
    let text = (agent == Agent::Codex).then(|| fs::read_to_string(config(hooks)).ok())??;
    let found = tables::find(&text, agent).ok()?;
    found.into_iter().next().map(|(_, own)| own)
}

/// The change that removes our hooks from the file `config`.
pub(super) fn leaving(config: &SettingsFile) -> Result<Change, String> {
    let before = config.before.as_deref().unwrap_or_default();
    tables::uninstall(before, Agent::Codex).map(Change::Text)
}

/// The step that is left if the `config.toml` beside the file `hooks` has hooks too.
fn left_to_do_for_both(hooks: &Path) -> Option<String> {
    let config = config(hooks);
    let found = tables::hooks(&fs::read_to_string(&config).ok()?).ok()??;
    // Codex stores there too which hooks are trusted.
    let mut events = found.as_object()?.values();
    events.any(Value::is_array).then(|| {
        format!(
            "{} has hooks too, and Codex warns at each start while both files have some: move them into one; hubctl \
             recognises its own in either",
            config.display()
        )
    })
}

pub(super) fn left_to_do(context: &Context, hooks: &Path) -> Vec<String> {
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
    all.extend(left_to_do_for_both(hooks));
    all
}
