//! Runs a command for each notification, with its fields in the environment.

use std::process::{Command, Stdio};

use hub_protocol::Notification;

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
    for (variable, value) in it.variables() {
        match value {
            Some(value) => shell.env(variable, value),
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
