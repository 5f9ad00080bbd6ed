//! Codex's app-server: one process that runs the sessions of many terminals, and their hooks.

use hub_agents::Agent;
use hub_protocol::Way;
use hub_protocol::process::command_line;

use super::surroundings::PANE_DELIVERY;
use crate::system::env::Env;
use crate::system::process;

/// Variables of a terminal, and of an agent in it. The app-server has those of the terminal that started it, which need
/// not be the session's.
pub(super) const OF_TERMINAL: [&str; 9] = [
    "HUB_SESSION",
    "HUB_SESSION_PID",
    "HUB_PARENT",
    "HUB_ROLE",
    "HUB_PROJECT",
    "CLAUDE_PROJECT_DIR",
    "TMUX",
    "TMUX_PANE",
    PANE_DELIVERY,
];

/// Whether this process is a hook of a session in an app-server.
pub(super) fn runs_this_hook(agent: Agent, env: &Env) -> bool {
    let process = agent
        .facts()
        .has(Way::AppServer)
        .then(|| process::agent(env, None));
    let Some(process) = process.flatten() else {
        return false;
    };
    command_line(process.pid)
        .iter()
        .skip(1)
        .any(|it| it == "app-server")
}
