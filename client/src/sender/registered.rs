//! Finds the session of a process among those that are registered with the hub.

use hub_protocol::{InboxName, Process};
use serde_json::Value;

use crate::env::Sourced;
use crate::error::Error;
use crate::fields::{list, text};
use crate::here::Here;
use crate::process::ancestors;
use crate::session::request;

/// The live session whose process is an ancestor of this one. An error if the hub does not answer.
pub(crate) async fn ancestor(here: &Here) -> Result<Option<Sourced<InboxName>>, Error> {
    let ancestors = ancestors();
    if ancestors.is_empty() {
        return Ok(None);
    }
    let answer: Value = here.hub()?.json(&request(None, false)).await?;
    let found = by_process(list(&answer, "sessions"), &ancestors);
    Ok(found.map(|id| Sourced::new(id, "session of an ancestor process")))
}

/// The session whose process is the nearest of `ancestors`.
fn by_process(sessions: &[Value], ancestors: &[Process]) -> Option<InboxName> {
    let of = |session: &Value| -> Option<(Process, InboxName)> {
        let process = serde_json::from_value(session.get("process")?.clone()).ok()?;
        Some((process, text(session, "id").parse().ok()?))
    };
    let known: Vec<_> = sessions.iter().filter_map(of).collect();
    let session = |ancestor: &Process| known.iter().find(|(process, _)| process == ancestor);
    let (_, id) = ancestors.iter().find_map(session)?;
    Some(id.clone()).filter(|id| !id.is_reserved())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
            json!({"id": "far", "process": process(1, 10)}),
            json!({"id": "near", "process": process(2, 20)}),
            json!({"id": "none"}),
        ];
        let found = |ancestors: &[Process]| by_process(&sessions, ancestors);
        let both = [process(2, 20), process(1, 10)];
        assert_eq!(found(&both).unwrap().as_str(), "near");
        assert_eq!(found(&both[1..]).unwrap().as_str(), "far");
        assert_eq!(found(&[process(2, 21)]), None);
    }
}
