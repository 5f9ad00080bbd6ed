//! Checks whether agents' hooks are installed, only once, and whether they fire.

use hub_agents::Agent;
use hub_protocol::{Session, Timestamp};

use super::codex_trust;
use super::finding::Finding;
use crate::api::session::display_name;
use crate::commands::hooks::{HookStatus, InstallState, everywhere};
use crate::error::Error;
use crate::identity::Context;
use crate::output::age::age;

/// The findings about hooks. `sessions` are all sessions that the hub knows; `None` if the hub does not answer.
pub(super) async fn check(
    context: &Context,
    sessions: Option<&[Session]>,
) -> Result<Vec<Finding>, Error> {
    let mut found = Vec::new();
    let all = everywhere(context)?;
    let installed: Vec<&HookStatus> = all
        .iter()
        .filter(|it| it.state != InstallState::Absent)
        .collect();
    if installed.is_empty() {
        found.push(Finding::warn(
            "no agent's hooks are installed here",
            "hubctl hooks install claude (or another agent: hubctl hooks status)",
        ));
    }
    for it in &installed {
        found.push(stands(it));
        if let Some(twice) = duplicate(it) {
            found.push(twice);
        }
    }
    let mut obstacles: Vec<_> = installed
        .iter()
        .filter_map(|it| it.obstacle.as_ref())
        .collect();
    obstacles.dedup();
    let obstacles = obstacles.into_iter();
    found.extend(obstacles.map(|it| Finding::problem(&it.what, &it.todo)));
    if installed.iter().any(|it| it.agent.facts().trust.is_some()) {
        found.push(codex_trust::check(context).await);
    }
    let mut agents: Vec<Agent> = installed.iter().map(|it| it.agent).collect();
    agents.dedup();
    if let Some(sessions) = sessions {
        found.extend(agents.into_iter().map(|agent| fires(agent, sessions)));
    }
    Ok(found)
}

/// The finding about the hooks in one settings file.
fn stands(it: &HookStatus) -> Finding {
    let place = format!("{} hooks in {}", it.agent, it.path.display());
    let again = it.install_command();
    match (it.state, &it.problem) {
        (InstallState::Malformed, problem) => Finding::problem(
            format!("{place}: {}", problem.as_deref().unwrap_or("malformed")),
            "repair the file: the agent may not be able to read it either",
        ),
        (_, Some(problem)) => Finding::problem(format!("{place}: {problem}"), again),
        (InstallState::Outdated, None) => Finding::warn(
            format!("{place} differ from those that this hubctl installs"),
            again,
        ),
        _ if it.rewake => Finding::ok(format!("{place} are installed, and wake idle sessions")),
        _ => Finding::ok(format!("{place} are installed")),
    }
}

/// A problem if hooks are installed twice, because each event would then be reported twice.
fn duplicate(it: &HookStatus) -> Option<Finding> {
    it.duplicate.then(|| {
        Finding::problem(
            format!(
                "{} hooks are installed twice; one is in {}",
                it.agent,
                it.path.display()
            ),
            format!(
                "keep one: hubctl hooks uninstall {} --{}",
                it.agent, it.scope
            ),
        )
    })
}

/// The finding about the last session of this agent that its hooks reported.
fn fires(agent: Agent, sessions: &[Session]) -> Finding {
    let own = sessions.iter();
    let own = own.filter(|it| it.info.agent.as_deref() == Some(agent.as_str()));
    let seen = own.filter_map(|it| Some((it.last_seen?, it)));
    match seen.max_by_key(|(at, _)| *at) {
        Some((at, session)) => Finding::ok(format!(
            "{agent} hooks fire: the hub heard from session {} {} ago",
            display_name(session),
            age(at, Timestamp::now())
        )),
        None => Finding::warn(
            format!("{agent} hooks are installed, but the hub knows no session of {agent}"),
            format!(
                "restart the running sessions; `hubctl hooks status {agent}` lists the settings files"
            ),
        ),
    }
}
