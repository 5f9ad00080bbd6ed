//! Claude Code's setting `statusLine`: a command of ours, on request.

use jsonc_parser::cst::CstObject;
use serde_json::{Value, json};

use super::json::{input, remove, value_of};
use super::own::Invocation;

const NAME: &str = "statusLine";
const ARGS: &str = "status --line --format claude";
/// Seconds. Without it, Claude Code runs the command only at events of its own session, and other sessions change the line.
const REFRESH: u8 = 5;

/// Adds the command. Fails if the settings have another status line, which stays.
pub(super) fn install(settings: &CstObject, invocation: &Invocation) -> Result<(), String> {
    if value_of(settings, NAME).is_some_and(|it| !is_ours(&it)) {
        return Err(format!(
            "its {NAME} is another command: call `hubctl {ARGS}` in that one, or remove it first"
        ));
    }
    let command = invocation.command(ARGS);
    let line = input(&json!({"type": "command", "command": command, "refreshInterval": REFRESH}));
    match settings.get(NAME) {
        Some(member) => member.set_value(line),
        None => drop(settings.append(NAME, line)),
    }
    Ok(())
}

/// Removes the command, if it is ours.
pub(super) fn uninstall(settings: &CstObject) {
    if value_of(settings, NAME).is_some_and(|it| is_ours(&it)) {
        remove(settings, NAME);
    }
}

fn is_ours(line: &Value) -> bool {
    let command = line["command"].as_str().unwrap_or_default();
    command.contains("hubctl") && command.ends_with(ARGS)
}
