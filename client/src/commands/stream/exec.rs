//! Runs a command for each notification, with its fields in the environment.

use std::process::{Command, Stdio};

use hub_protocol::Notification;
use serde_json::Value;

use crate::error::Error;
use crate::hub::parse;
use crate::output::say;

/// Runs `command` with sh for one notification, and waits for its end. A failure is only reported on stderr.
pub(super) fn run(command: &str, json: &str) -> Result<(), Error> {
    let it: Notification = parse(json)?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .env("HUB_JSON", json);
    for (variable, value) in variables(&it) {
        match value {
            // A variable cannot contain NUL.
            Some(value) => shell.env(variable, value.replace('\0', "\u{fffd}")),
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

/// The variables of a command. `session` and `parent` are left out: their variables would make a hubctl that the
/// command calls send in the name of the notification's sender.
fn variables(it: &Notification) -> [(&'static str, Option<String>); 12] {
    let data = it.data.as_ref().map(|data| match data {
        Value::String(text) => text.clone(),
        data => data.to_string(),
    });
    [
        ("HUB_ID", Some(it.id.to_string())),
        ("HUB_TS", Some(it.ts.to_string())),
        ("HUB_FROM", Some(it.from.to_string())),
        ("HUB_TYPE", Some(it.kind.to_string())),
        ("HUB_MSG", Some(it.msg.clone())),
        ("HUB_TO", it.to.as_ref().map(ToString::to_string)),
        ("HUB_PROJECT", Some(it.project.to_string())),
        ("HUB_PRIORITY", Some(it.priority.to_string())),
        ("HUB_TITLE", it.title.clone()),
        ("HUB_DATA", data),
        ("HUB_KEY", it.key.clone()),
        ("HUB_REPLY_TO", it.reply_to.map(|id| id.to_string())),
    ]
}
