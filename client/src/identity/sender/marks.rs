//! Tells whether `HUB_SESSION` is this agent's own, or inherited from an agent above it.

use hub_agents::Agent;
use hub_protocol::{InboxName, Process};

use crate::error::Error;
use crate::system::env::{Env, Sourced};
use crate::system::process;

/// The variable that names the process and the session that `HUB_SESSION` was set for: `PID:NAME`.
pub(crate) const SESSION_AGENT: &str = "HUB_SESSION_PID";

/// The value of [`SESSION_AGENT`] for the session `name` of the agent's process `pid`.
pub(crate) fn mark(pid: &str, name: &InboxName) -> String {
    format!("{pid}:{name}")
}

/// The process that `HUB_SESSION` was set for; `None` if `HUB_SESSION` was changed since.
fn owner(env: &Env) -> Option<&str> {
    let mark = env.var(SESSION_AGENT)?.to_str()?;
    let (pid, name) = mark.split_once(':').unwrap_or((mark, ""));
    let same = name.is_empty() || env.var("HUB_SESSION").is_some_and(|it| it == name);
    same.then_some(pid)
}

/// Whether `HUB_SESSION` was set for an agent above the one that this process belongs to. It was if a variable of an
/// agent is set here that the owner of `HUB_SESSION` was not started with.
fn is_foreign(env: &Env) -> bool {
    let Some(owner) = owner(env) else {
        return false;
    };
    let value = |name: &str| env.var(name)?.to_str().map(str::to_owned);
    let agents = || Agent::ALL.into_iter().map(Agent::facts);
    let is_of_other = |name: &str| {
        let value = value(name).filter(|it| it != owner);
        value.is_some_and(|it| process::was_started_with(owner, name, &it) != Some(true))
    };
    if agents()
        .filter_map(|it| it.process_variable)
        .any(is_of_other)
    {
        return true;
    }
    let is_below = |name: &str| {
        let value = value(name);
        value.is_some_and(|it| process::was_started_with(owner, name, &it) == Some(false))
    };
    let threads = agents().filter(|it| it.process_variable.is_none());
    threads.filter_map(|it| it.session_variable).any(is_below)
}

/// Whether the environment names the session of this very process: somebody has set `HUB_SESSION` since its agent started, or
/// no other program is between this process and the agent that it was set for.
pub(crate) fn names_this_process(env: &Env) -> bool {
    if env.var("HUB_SESSION").is_none() || is_foreign(env) {
        return false;
    }
    let started_by = || process::starter_pid().map(|pid| pid.to_string());
    owner(env).is_none_or(|owner| started_by().as_deref() == Some(owner))
}

/// Whether the session in the environment is meant for this process's own agent.
pub(crate) fn inherits(env: &Env) -> bool {
    !is_foreign(env)
}

/// Whether `HUB_SESSION` was set for the agent with this process. A hook knows its agent's process.
pub(crate) fn is_given_to(env: &Env, agent: Option<&Process>) -> bool {
    match (owner(env), agent) {
        (Some(owner), Some(agent)) => owner == agent.pid.to_string(),
        _ => inherits(env),
    }
}

/// The session in `HUB_SESSION`, unless it belongs to an agent above. A reserved name is an error.
pub(crate) fn given_session(env: &Env) -> Result<Option<Sourced<InboxName>>, Error> {
    if is_foreign(env) {
        return Ok(None);
    }
    let found: Option<Sourced<InboxName>> = env.parsed("HUB_SESSION")?;
    match found {
        Some(found) if found.value.is_reserved() => Err(Error::Usage(format!(
            "HUB_SESSION: '{}' is reserved; use another name, and set HUB_ROLE=primary for the primary",
            found.value
        ))),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn given(vars: &[(&str, &str)]) -> Option<String> {
        let env = Env::of(Path::new("/"), vars);
        Some(given_session(&env).unwrap()?.value.to_string())
    }

    #[test]
    fn an_agent_does_not_inherit_the_session_of_the_agent_that_started_it() {
        let vars = [
            ("HUB_SESSION", "outer"),
            ("HUB_SESSION_PID", "1:outer"),
            ("CLAUDE_PID", "4194305"),
        ];
        assert_eq!(given(&vars), None);
        assert_eq!(given(&vars[..2]).as_deref(), Some("outer"));
        let anew = [("HUB_SESSION", "w1"), vars[1], vars[2]];
        assert_eq!(given(&anew).as_deref(), Some("w1"), "it was given another");
    }

    // macOS hides the environment of `cat`.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_codex_below_another_agent_does_not_inherit_its_session() {
        let mut owner = std::process::Command::new("cat")
            .env_clear()
            .env("CODEX_THREAD_ID", "above")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // A new process has the environment of its parent until it executes the program.
        let id = owner.id().to_string();
        while process::was_started_with(&id, "CODEX_THREAD_ID", "above") != Some(true) {
            std::thread::yield_now();
        }
        let mark = format!("{}:claude", owner.id());
        let given = |thread| {
            given(&[
                ("HUB_SESSION", "claude"),
                ("HUB_SESSION_PID", &mark),
                ("CODEX_THREAD_ID", thread),
            ])
        };
        assert_eq!(given("below"), None);
        assert_eq!(given("above").as_deref(), Some("claude"));
        owner.kill().unwrap();
        owner.wait().unwrap();
        assert_eq!(
            given("below").as_deref(),
            Some("claude"),
            "nothing is known"
        );
    }
}
