//! Runs a command for each notification, with its fields in the environment.

use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use crate::error::Error;
use crate::hub::parse;
use crate::out::say;

/// The variables of a command, each with its field. `session` and `parent` are left out: their variables would make a
/// hubctl that the command calls send in the name of the notification's sender.
const FIELDS: [(&str, &str); 12] = [
    ("HUB_ID", "id"),
    ("HUB_TS", "ts"),
    ("HUB_FROM", "from"),
    ("HUB_TYPE", "type"),
    ("HUB_MSG", "msg"),
    ("HUB_TO", "to"),
    ("HUB_PROJECT", "project"),
    ("HUB_PRIORITY", "priority"),
    ("HUB_TITLE", "title"),
    ("HUB_DATA", "data"),
    ("HUB_KEY", "key"),
    ("HUB_REPLY_TO", "reply_to"),
];

/// Runs `command` with sh for one notification, and waits for its end. A failure is only reported on stderr.
pub(super) fn run(command: &str, json: &str) -> Result<(), Error> {
    let fields: Map<String, Value> = parse(json)?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .env("HUB_JSON", json);
    for (variable, field) in FIELDS {
        match fields.get(field) {
            Some(value) => shell.env(variable, as_text(value)),
            None => shell.env_remove(variable),
        };
    }
    match shell.status() {
        Ok(status) if status.success() => {}
        Ok(status) => say(format!("{command}: {status}")),
        Err(error) => say(format!("{command}: {error}")),
    }
    Ok(())
}

/// The value of a variable: a string without quotes, and with NUL replaced, which a variable cannot contain.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('\0', "\u{fffd}"),
        other => other.to_string(),
    }
}
