//! Agents that are killed, and sessions that are loaded again.

use std::process::Command;

use hub_harness::{Program, until};

use super::start::{Agent, Shown, run, start};
use crate::support::{InstalledHub, no_limits};

/// The agent that saves a session some time after its turn. If it dies before, it finds none later.
const SAVES_LATE: &str = "gemini";

/// Kills the agent after a turn: its session has failed, and `attach` loads it with what was said before.
pub(super) fn is_survived(agent: &Agent) {
    let hub = InstalledHub::without_hooks(no_limits());
    let (model, command, env) = (agent.start)(&hub);
    let model = Shown(model);
    let mut program = run(&hub, agent.more, &command, env.clone());
    super::answers_a_prompt(&hub, &mut program);
    let id = hub.session("fig")["id"].clone();
    kill_agent(&hub);
    assert_eq!(until("its client has ended", || program.exit_code()), 1);
    hub.published("Agent fig failed: the agent has ended");
    let mut again = start(&hub, &["acp", "attach", "fig"], env);
    let is_loaded = until("it is loaded, or has ended", || {
        let is_loaded = again.printed().contains("A scripted fig.").then_some(true);
        is_loaded.or_else(|| again.exit_code().map(|_| false))
    });
    if !is_loaded {
        assert_eq!(agent.row, SAVES_LATE);
        again.complains("No previous sessions found");
        assert_eq!(again.exit_code(), Some(1));
        return;
    }
    again.types("And then?");
    again.until("Then a plum.");
    let request = model.0.until_received("And then?");
    for before in ["Which fruit?", "A scripted fig."] {
        assert!(request.contains(before) > 0, "{:?}", request.texts);
    }
    hub.published("Agent fig completed: Then a plum.");
    assert_eq!(hub.session("fig")["id"], id, "the same session");
    ends(&hub, &mut again);
}

/// Kills the agent with SIGKILL, and all that it has started.
fn kill_agent(hub: &InstalledHub) {
    let is_client = |command: &str| command.contains("hub-acp") || command.contains("hubctl");
    let mut all = hub.marker().processes();
    all.retain(|it| !is_client(&it.command));
    let pids = all.iter().map(|it| it.pid.to_string());
    // One may end by itself when another one is killed.
    let killed = Command::new("kill").arg("-KILL").args(pids).status();
    killed.expect("kill starts");
}

fn ends(hub: &InstalledHub, program: &mut Program) {
    assert_eq!(program.ends(), 0);
    until("no process is left", || {
        hub.marker().processes().is_empty().then_some(())
    });
}
