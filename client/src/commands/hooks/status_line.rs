//! Claude Code's setting `statusLine`: a command of ours, on request.

use serde_json::Value;

use super::own::Invocation;
use super::tree::Node;

const NAME: &str = "statusLine";
const ARGS: &str = "status --line --format claude";
/// Seconds. Without it, Claude Code runs the command only at events of its own session, and other sessions change the line.
const REFRESH: u8 = 5;

/// Adds the command. Fails if the settings have another status line, which stays.
pub(super) fn install(settings: &mut Node, invocation: &Invocation) -> Result<(), String> {
    let found = settings.get(NAME)?.map(|it| it.value());
    if found.is_some_and(|it| !is_ours(&it)) {
        return Err(format!(
            "its {NAME} is another command: call `hubctl {ARGS}` in that one, or remove it first"
        ));
    }
    settings.remove(NAME)?;
    let command = Node::of(&invocation.command(ARGS));
    let line = Node::object_of([
        ("type", Node::of(&"command")),
        ("command", command),
        ("refreshInterval", Node::of(&REFRESH)),
    ]);
    settings.get_or(NAME, line).map(drop)
}

/// Removes the command, if it is ours.
pub(super) fn uninstall(settings: &mut Node) -> Result<(), String> {
    let found = settings.get(NAME)?.map(|it| it.value());
    if found.is_some_and(|it| is_ours(&it)) {
        settings.remove(NAME)?;
    }
    Ok(())
}

fn is_ours(line: &Value) -> bool {
    let command = line["command"].as_str().unwrap_or_default();
    command.contains("hubctl") && command.ends_with(ARGS)
}
