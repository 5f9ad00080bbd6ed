//! The identity that every command uses to send, ask, answer and wait.

mod marks;
mod outside;
mod registered;

use hub_agents::Agent;
use hub_protocol::{ByPost, InboxName};

use crate::error::{Error, Unreachable};
use crate::identity::Context;
use crate::system::env::{Env, Sourced};

pub(crate) use self::marks::{SESSION_AGENT, given_session, inherits, is_given_to, mark};
pub(crate) use self::outside::agent;
use self::registered::ancestor;

/// The agent session that the environment names: by `HUB_SESSION`, or by the agent's own variable.
pub(crate) fn from_environment(env: &Env) -> Result<Option<Sourced<InboxName>>, Error> {
    Ok(named(env)?.into_iter().next())
}

/// The agent sessions that the environment names, the likeliest first. An agent below another one inherits its variables.
fn named(env: &Env) -> Result<Vec<Sourced<InboxName>>, Error> {
    // The next version of an agent may change its variable, so a value that is not a session's name is ignored.
    let own = Agent::session_variables()
        .filter_map(|name| env.parsed::<InboxName>(name).ok().flatten())
        .filter(|found| !found.value.is_reserved());
    Ok(given_session(env)?.into_iter().chain(own).collect())
}

/// The live session to which this process belongs, and how it is known: by `HUB_SESSION` if somebody set it for this process;
/// else the nearest ancestor process that is a session's, because the variables may be those of an agent above it; else the
/// environment. An error if the hub does not answer.
pub(crate) async fn own(context: &Context) -> Result<Option<Sourced<InboxName>>, Error> {
    let named = named(&context.env)?;
    let first = named.first().cloned();
    if first.is_some() && marks::names_this_process(&context.env) {
        return Ok(first);
    }
    match ancestor(context, &named).await {
        Err(_) if first.is_some() => Ok(first),
        found => Ok(found?.or(first)),
    }
}

/// The agent session that this process belongs to: [`own`], or the agent of the directory. An error means that a hub is
/// there and did not answer: this process may belong to an agent.
pub(crate) async fn session(context: &Context) -> Result<Option<Sourced<InboxName>>, Error> {
    let found = match own(context).await {
        Err(error @ Error::Usage(_)) => return Err(error),
        // Without a running hub there are no registered sessions.
        Err(
            Error::Blocked(_)
            | Error::Unreachable(Unreachable {
                connected: false, ..
            }),
        ) => None,
        Err(error) if error.is_passing() => return Err(error),
        // A refusal is ignored here, because the hub will refuse the command's own request too.
        found => found.ok().flatten(),
    };
    Ok(found.or_else(|| agent(&context.env)))
}

/// The sender: `given`, this session, or the person outside any agent. `unknown` if the hub does not answer, because
/// the notification will be spooled anyway.
pub(crate) async fn sender(
    context: &Context,
    given: Option<&InboxName>,
) -> Result<Sourced<InboxName>, Error> {
    if let Some(given) = given {
        return Ok(Sourced::new(given.clone(), "--from"));
    }
    match session(context).await {
        Err(error) if error.is_passing() => Ok(outside::unknown()),
        session => Ok(session?.unwrap_or_else(|| outside::person(&context.env))),
    }
}

/// Whether `sender` is not a session: it is a person or `unknown`.
pub(crate) fn is_outside(sender: &Sourced<InboxName>) -> bool {
    outside::SOURCES.contains(&sender.source)
}

/// The session that is notified of another's stop: `given`, this session, or `primary` outside any agent.
pub(crate) async fn caller(
    context: &Context,
    given: Option<&InboxName>,
) -> Result<InboxName, Error> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    let own = session(context).await?.map(|found| found.value);
    Ok(own.unwrap_or_else(InboxName::primary))
}

/// The agent session or the person that answers, claims or withdraws a question.
pub(crate) async fn by(context: &Context) -> Result<ByPost, Error> {
    let session = session(context).await?.map(|session| session.value);
    Ok(ByPost {
        by: match session {
            Some(_) => None,
            None => InboxName::PERSON.parse().ok(),
        },
        session,
    })
}

/// The inboxes to read: those that are `given`; in a session its own, and `primary` too for the primary session;
/// `primary` outside any agent.
pub(crate) fn inboxes(
    env: &Env,
    given: &[InboxName],
    session: Option<&Sourced<InboxName>>,
) -> Sourced<Vec<InboxName>> {
    if !given.is_empty() {
        return Sourced::new(given.to_vec(), "--inbox");
    }
    let Some(session) = session else {
        return Sourced::new(vec![InboxName::primary()], "outside any agent");
    };
    let own = session.value.clone();
    if env
        .var("HUB_ROLE")
        .is_some_and(|role| role == InboxName::PRIMARY)
    {
        return Sourced::new(vec![InboxName::primary(), own], "HUB_ROLE");
    }
    Sourced::new(vec![own], session.source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn env(vars: &[(&str, &str)]) -> Env {
        Env::of(Path::new("/"), vars)
    }

    fn rule(vars: &[(&str, &str)]) -> Option<&'static str> {
        Some(from_environment(&env(vars)).unwrap()?.source)
    }

    #[test]
    fn hub_session_takes_precedence_over_the_agents_variable() {
        let both = [("HUB_SESSION", "mine"), ("CLAUDE_CODE_SESSION_ID", "0b1c")];
        assert_eq!(rule(&both), Some("HUB_SESSION"));
        assert_eq!(rule(&both[1..]), Some("CLAUDE_CODE_SESSION_ID"));
        assert_eq!(rule(&[]), None);
    }

    #[test]
    fn a_session_reads_its_own_inbox_and_the_primary_session_both() {
        let shown = |vars: &[(&str, &str)]| {
            let env = env(vars);
            let found = inboxes(&env, &[], from_environment(&env).unwrap().as_ref()).value;
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(shown(&[("HUB_SESSION", "w")]), ["w"]);
        let primary = [("HUB_SESSION", "p"), ("HUB_ROLE", "primary")];
        assert_eq!(shown(&primary), ["primary", "p"]);
        assert_eq!(shown(&[]), ["primary"]);
    }

    #[test]
    fn an_invalid_name_is_ignored_in_an_agents_variable_and_refused_in_ours() {
        for bad in ["a/b", "person", "primary", "all"] {
            assert_eq!(rule(&[("CLAUDE_CODE_SESSION_ID", bad)]), None, "{bad}");
            let refused = from_environment(&env(&[("HUB_SESSION", bad)])).unwrap_err();
            assert!(
                refused.to_string().starts_with("HUB_SESSION: "),
                "{refused}"
            );
        }
    }
}
