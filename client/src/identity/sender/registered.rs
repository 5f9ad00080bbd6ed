//! Finds the session of a process among those that are registered with the hub.

use hub_protocol::{InboxName, Process, Session};

use crate::api::session::sessions;
use crate::error::Error;
use crate::identity::Context;
use crate::system::env::Sourced;
use crate::system::process::ancestors;

/// The live session whose process is an ancestor of this one. An error if the hub does not answer.
pub(crate) async fn ancestor(context: &Context) -> Result<Option<Sourced<InboxName>>, Error> {
    let ancestors = ancestors();
    if ancestors.is_empty() {
        return Ok(None);
    }
    let sessions = sessions(&context.hub()?, None, false).await?;
    let found = by_process(&sessions, &ancestors);
    Ok(found.map(|id| Sourced::new(id, "session of an ancestor process")))
}

/// The session whose process is the nearest of `ancestors`; `None` if that process runs several sessions.
fn by_process(sessions: &[Session], ancestors: &[Process]) -> Option<InboxName> {
    let runs = |ancestor: &Process| {
        let mut own = { sessions.iter() }.filter(|it| it.info.process.as_ref() == Some(ancestor));
        Some((own.next()?, own.next()))
    };
    let (session, other) = ancestors.iter().find_map(runs)?;
    (other.is_none() && !session.id.is_reserved()).then(|| session.id.clone())
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
        let found = |ancestors: &[Process]| by_process(&sessions, ancestors);
        let both = [process(2, 20), process(1, 10)];
        assert_eq!(found(&both).unwrap().as_str(), "near");
        assert_eq!(found(&both[1..]).unwrap().as_str(), "far");
        assert_eq!(found(&[process(2, 21)]), None);
        let shared = ["one", "other"].map(|id| session(id, Some(process(2, 20))));
        assert_eq!(by_process(&shared, &both), None);
    }
}
