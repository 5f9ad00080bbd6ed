//! Finds the session of a process among those that are registered with the hub.

use hub_protocol::{InboxName, Process, Session};

use crate::api::session::sessions;
use crate::error::Error;
use crate::identity::Context;
use crate::system::env::Sourced;
use crate::system::process::ancestors;

/// The live session whose process is the nearest ancestor of this one that has any. `named` are the sessions that the
/// environment may mean: the one of them that runs there is returned under that name. `None` if the process runs several
/// sessions and none is named. An error if the hub does not answer.
pub(crate) async fn ancestor(
    context: &Context,
    named: &[Sourced<InboxName>],
) -> Result<Option<Sourced<InboxName>>, Error> {
    let ancestors = ancestors();
    if ancestors.is_empty() {
        return Ok(None);
    }
    let sessions = sessions(&context.hub()?, None, false).await?;
    Ok(by_process(&sessions, &ancestors, named))
}

fn by_process(
    sessions: &[Session],
    ancestors: &[Process],
    named: &[Sourced<InboxName>],
) -> Option<Sourced<InboxName>> {
    let runs = |ancestor: &Process| {
        let own = { sessions.iter() }.filter(|it| it.info.process.as_ref() == Some(ancestor));
        Some(own.collect::<Vec<_>>()).filter(|own| !own.is_empty())
    };
    let own = ancestors.iter().find_map(runs)?;
    let is_own = |name: &Sourced<InboxName>| own.iter().any(|it| answers_to(it, &name.value));
    if let Some(found) = named.iter().find(|it| is_own(it)) {
        return Some(found.clone());
    }
    match own[..] {
        [only] if !only.id.is_reserved() => Some(Sourced::new(
            only.id.clone(),
            "session of an ancestor process",
        )),
        _ => None,
    }
}

/// Whether this is one of the session's names.
fn answers_to(session: &Session, name: &InboxName) -> bool {
    session.id == *name || session.aliases.contains(name) || session.name == name.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn session(id: &str, process: Option<Process>) -> Session {
        let mut session: Session =
            serde_json::from_value(json!({"id": id, "name": id, "project": "p",
            "primary": false, "pending": 0, "wake": "none"}))
            .unwrap();
        session.info.process = process;
        session
    }

    fn process(pid: u32, started: u64) -> Process {
        Process {
            pid,
            started: Some(started),
            boot_id: Some("b".into()),
        }
    }

    #[test]
    fn the_nearest_ancestor_is_the_session_and_a_reused_process_number_is_not() {
        let sessions = [
            session("far", Some(process(1, 10))),
            session("near", Some(process(2, 20))),
            session("none", None),
        ];
        let found = |ancestors: &[Process]| {
            let found = by_process(&sessions, ancestors, &[])?;
            Some(found.value.to_string())
        };
        let both = [process(2, 20), process(1, 10)];
        assert_eq!(found(&both).as_deref(), Some("near"));
        assert_eq!(found(&both[1..]).as_deref(), Some("far"));
        assert_eq!(found(&[process(2, 21)]), None);
    }

    #[test]
    fn of_several_sessions_in_one_process_the_environment_names_one() {
        let shared = ["one", "other"].map(|id| session(id, Some(process(2, 20))));
        let found = |named: &[&str]| {
            let named = named
                .iter()
                .map(|it| Sourced::new(it.parse().unwrap(), "a variable"));
            let found = by_process(&shared, &[process(2, 20)], &named.collect::<Vec<_>>())?;
            Some(found.value.to_string())
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&["above"]), None);
        assert_eq!(found(&["above", "other"]).as_deref(), Some("other"));
    }
}
