//! Who speaks, and which inboxes are theirs.

mod registered;

use hub_protocol::InboxName;

use crate::env::{Env, Sourced};
use crate::error::Error;
use crate::git::Repository;
use crate::here::Here;

use self::registered::registered;

/// The variables in which agents tell their session's id to what they start.
const AGENT_VARIABLES: [&str; 3] = [
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "GEMINI_SESSION_ID",
];

/// The process of the agent that `HUB_SESSION` was set for.
pub(crate) const SESSION_AGENT: &str = "HUB_SESSION_PID";

/// Whether `HUB_SESSION`, and what goes with it, was set for an agent above the one that this process belongs to.
pub(crate) fn is_foreign(env: &Env) -> bool {
    match (env.var(SESSION_AGENT), env.var("CLAUDE_PID")) {
        (Some(of), Some(agent)) => of != agent,
        _ => false,
    }
}

/// `HUB_SESSION`, unless it is foreign.
pub(crate) fn given_session(env: &Env) -> Result<Option<Sourced<InboxName>>, Error> {
    if is_foreign(env) {
        return Ok(None);
    }
    env.parsed("HUB_SESSION")
}

/// The agent session that this process belongs to: `HUB_SESSION`, or the agent's own variable.
pub(crate) fn session(env: &Env) -> Result<Option<Sourced<InboxName>>, Error> {
    if let Some(found) = given_session(env)? {
        return Ok(Some(found));
    }
    // An agent's own variable may hold anything in its next version: what is no name is passed over.
    Ok(AGENT_VARIABLES
        .into_iter()
        .find_map(|name| env.parsed(name).ok().flatten()))
}

/// The sender by the first rule that gives one: given, the agent session, the live session that is an ancestor process,
/// the one session in this worktree, the linked worktree's name, `unknown`. Only who has no name by the first two asks
/// the hub.
pub(crate) async fn sender(
    here: &Here,
    given: Option<&InboxName>,
) -> Result<Sourced<InboxName>, Error> {
    if let Some(found) = named(&here.env, given)? {
        return Ok(found);
    }
    if let Some(found) = registered(here).await {
        return Ok(found);
    }
    Ok(placed(&here.env))
}

/// The sender that is given, or that the environment names.
fn named(env: &Env, given: Option<&InboxName>) -> Result<Option<Sourced<InboxName>>, Error> {
    match given {
        Some(given) => Ok(Some(Sourced::new(given.clone(), "--from"))),
        None => session(env),
    }
}

/// The sender that the directory names.
fn placed(env: &Env) -> Sourced<InboxName> {
    Repository::discover(&env.cwd)
        .and_then(|found| found.linked_worktree()?.parse().ok())
        .map_or_else(
            || Sourced::new(unknown(), "nothing says who"),
            |name| Sourced::new(name, "linked worktree"),
        )
}

/// Who is told of a session's stop: given, this session, or `primary` outside any agent.
pub(crate) fn caller(env: &Env, given: Option<&InboxName>) -> Result<InboxName, Error> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let own = session(env)?.map(|found| found.value);
    Ok(own.unwrap_or_else(InboxName::primary))
}

fn unknown() -> InboxName {
    // A constant of the protocol, and a name by its rules.
    InboxName::UNKNOWN.parse().expect("'unknown' is a name")
}

/// The inboxes that a reader here reads: what is given; a session's own, and `primary` too for the primary session;
/// `primary` outside any agent.
pub(crate) fn inboxes(env: &Env, given: &[InboxName]) -> Result<Sourced<Vec<InboxName>>, Error> {
    if !given.is_empty() {
        return Ok(Sourced::new(given.to_vec(), "--inbox"));
    }
    let Some(session) = session(env)? else {
        return Ok(Sourced::new(
            vec![InboxName::primary()],
            "outside any agent",
        ));
    };
    let own = session.value;
    if env
        .var("HUB_ROLE")
        .is_some_and(|role| role == InboxName::PRIMARY)
    {
        return Ok(Sourced::new(vec![InboxName::primary(), own], "HUB_ROLE"));
    }
    Ok(Sourced::new(vec![own], session.source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn env(vars: &[(&str, &str)]) -> Env {
        Env::of(Path::new("/"), vars)
    }

    fn shown(found: &Sourced<Vec<InboxName>>) -> Vec<&str> {
        found.value.iter().map(InboxName::as_str).collect()
    }

    #[test]
    fn each_rule_of_the_sender_has_its_place() {
        let both = env(&[("HUB_SESSION", "mine"), ("CLAUDE_CODE_SESSION_ID", "0b1c")]);
        let given = "given".parse().unwrap();
        let rule = |env: &Env, given| named(env, given).unwrap().unwrap().source;
        assert_eq!(rule(&both, Some(&given)), "--from");
        assert_eq!(rule(&both, None), "HUB_SESSION");
        let agent = env(&[("CLAUDE_CODE_SESSION_ID", "0b1c")]);
        assert_eq!(rule(&agent, None), "CLAUDE_CODE_SESSION_ID");
        assert!(named(&env(&[]), None).unwrap().is_none());
        assert_eq!(placed(&env(&[])).value.as_str(), "unknown");
    }

    #[test]
    fn a_session_listens_for_itself_and_a_terminal_for_the_primary() {
        let told = |vars: &[(&str, &str)]| caller(&env(vars), None).unwrap();
        assert_eq!(told(&[("HUB_SESSION", "w")]).as_str(), "w");
        assert_eq!(told(&[]).as_str(), "primary");
    }

    #[test]
    fn an_agent_that_another_agent_started_is_not_that_one() {
        let vars = [
            ("HUB_SESSION", "outer"),
            ("HUB_SESSION_PID", "1"),
            ("CLAUDE_CODE_SESSION_ID", "inner"),
            ("CLAUDE_PID", "2"),
        ];
        assert_eq!(
            session(&env(&vars)).unwrap().unwrap().value.as_str(),
            "inner"
        );
        assert_eq!(
            session(&env(&vars[..3])).unwrap().unwrap().value.as_str(),
            "outer"
        );
    }

    #[test]
    fn a_session_reads_its_own_inbox_and_the_primary_one_both() {
        let worker = env(&[("HUB_SESSION", "w")]);
        assert_eq!(shown(&inboxes(&worker, &[]).unwrap()), ["w"]);
        let primary = env(&[("HUB_SESSION", "p"), ("HUB_ROLE", "primary")]);
        assert_eq!(shown(&inboxes(&primary, &[]).unwrap()), ["primary", "p"]);
        assert_eq!(shown(&inboxes(&env(&[]), &[]).unwrap()), ["primary"]);
    }

    #[test]
    fn an_agents_variable_that_is_no_name_is_passed_over_but_ours_is_refused() {
        assert!(
            session(&env(&[("CLAUDE_CODE_SESSION_ID", "a/b")]))
                .unwrap()
                .is_none()
        );
        assert!(session(&env(&[("HUB_SESSION", "a/b")])).is_err());
    }
}
