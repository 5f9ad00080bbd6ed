//! `CLAUDE_ENV_FILE`: environment variables for the commands of a Claude Code session.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::payload::Payload;
use super::surroundings::{Surroundings, working_directory};
use crate::identity::Context;
use crate::identity::sender;
use crate::publish::status_file;
use crate::system::shell::quoted;

/// Adds the session, its project and its status file. A variable that is already set, in the file or in the
/// environment, stays, unless it was inherited from the agent above.
pub(super) fn extend(context: &Context, payload: &Payload, surroundings: &Surroundings) {
    let Some(file) = context.env.path("CLAUDE_ENV_FILE") else {
        return;
    };
    let present = fs::read_to_string(&file).unwrap_or_default();
    let inherits = sender::inherits(&context.env);
    let mut lines = String::new();
    for (name, value) in variables(context, payload, surroundings) {
        let export = format!("export {name}=");
        let is_set =
            inherits && context.env.var(name).is_some() && !is_anothers(context, name, &value);
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
    // If this fails, the session's commands fall back to their own rules.
    let _ = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .and_then(|mut file| file.write_all(lines.as_bytes()));
}

/// Whether `name` is set for another session: the status file or the mark of the agent above, which gave this agent a
/// session of its own.
fn is_anothers(context: &Context, name: &str, own: &str) -> bool {
    let file = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    let present = context.env.var(name).and_then(|it| it.to_str());
    match name {
        "HUB_STATUS_FILE" => present.and_then(file) != file(own),
        sender::SESSION_AGENT => present != Some(own),
        _ => false,
    }
}

fn variables(
    context: &Context,
    payload: &Payload,
    surroundings: &Surroundings,
) -> Vec<(&'static str, String)> {
    let mut all = vec![("HUB_PROJECT", surroundings.project.to_string())];
    let given = sender::given_session(&context.env).ok().flatten();
    if let Some(session) = given.map(|it| it.value).or_else(|| payload.session()) {
        all.push(("HUB_SESSION", session.to_string()));
        // By the mark, an agent that a command of this session starts recognises that it is another session.
        let agent = context.env.var("CLAUDE_PID").and_then(|it| it.to_str());
        all.extend(agent.map(|pid| (sender::SESSION_AGENT, sender::mark(pid, &session))));
        let file = status_file::prepare(
            context,
            &working_directory(&context.env, payload.text("cwd")),
            &session,
        )
        .ok();
        let file = file.as_ref().and_then(|file| file.to_str());
        all.extend(file.map(|file| ("HUB_STATUS_FILE", file.into())));
    }
    all
}
