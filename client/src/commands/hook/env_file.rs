//! `CLAUDE_ENV_FILE`: what a session's own commands find in their environment.

use std::fs::{self, OpenOptions};
use std::io::Write;

use hub_protocol::InboxName;

use super::payload::Payload;
use super::surroundings::{Surroundings, directory};
use crate::here::Here;
use crate::sender;
use crate::shell::quoted;
use crate::status_file;

/// Adds who and where the session is, and its status file. What is set already, there or in the environment, stays,
/// but for what the environment has from the agent above.
pub(super) fn extend(here: &Here, payload: &Payload, surroundings: &Surroundings) {
    let Some(file) = here.env.path("CLAUDE_ENV_FILE") else {
        return;
    };
    let present = fs::read_to_string(&file).unwrap_or_default();
    let inherits = !sender::is_foreign(&here.env);
    let mut lines = String::new();
    for (name, value) in variables(here, payload, surroundings) {
        let export = format!("export {name}=");
        let is_set = inherits && here.env.var(name).is_some();
        if !is_set && !present.lines().any(|line| line.starts_with(&export)) {
            lines.extend([export.as_str(), quoted(&value).as_str(), "\n"]);
        }
    }
    if lines.is_empty() {
        return;
    }
    if !present.is_empty() && !present.ends_with('\n') {
        lines.insert(0, '\n');
    }
    // Without it the session's commands fall back to their own rules.
    let _ = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .and_then(|mut file| file.write_all(lines.as_bytes()));
}

fn variables(
    here: &Here,
    payload: &Payload,
    surroundings: &Surroundings,
) -> Vec<(&'static str, String)> {
    let mut all = vec![("HUB_PROJECT", surroundings.project.to_string())];
    let given = sender::given_session(&here.env).ok().flatten();
    let own = || payload.text("session_id")?.parse::<InboxName>().ok();
    if let Some(session) = given.map(|it| it.value).or_else(own) {
        all.push(("HUB_SESSION", session.to_string()));
        // An agent that is started from this session's commands is another session.
        let agent = here.env.var("CLAUDE_PID").and_then(|it| it.to_str());
        all.extend(agent.map(|pid| (sender::SESSION_AGENT, pid.to_owned())));
        let file =
            status_file::prepare(here, &directory(&here.env, payload.text("cwd")), &session).ok();
        let file = file.as_ref().and_then(|file| file.to_str());
        all.extend(file.map(|file| ("HUB_STATUS_FILE", file.into())));
    }
    all
}
