//! Who waits at an inbox, as a person reads it.

use std::fmt;

use hub_protocol::{InboxName, Problem, ProjectName};
use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;
use crate::hub::{Hub, Path, Request};

/// What is shown of a [`hub_protocol::Holder`]. Its time stays text: it is only printed.
#[derive(Debug, Deserialize)]
pub(crate) struct Seat {
    #[serde(rename = "as", default)]
    name: Option<String>,
    /// The agent session that the waiter wakes.
    #[serde(default)]
    pub session: Option<String>,
    /// How it wakes it: `rewake` or `wait`.
    #[serde(default)]
    pub way: Option<String>,
    since: String,
}

impl Seat {
    /// The holder that a refusal names.
    pub(crate) fn of(problem: &Problem) -> Option<Self> {
        serde_json::from_str(&problem.more.get("holder")?.to_string()).ok()
    }

    /// Whether this holder wakes the session that `session` names now: an id may be an alias since a `/clear`.
    pub(crate) async fn wakes(
        &self,
        hub: &Hub,
        project: &ProjectName,
        session: Option<&InboxName>,
    ) -> bool {
        let (Some(theirs), Some(ours)) = (&self.session, session) else {
            return false;
        };
        if theirs == ours.as_str() {
            return true;
        }
        let path = Path::new("/sessions")
            .segment(ours)
            .with("project", project);
        let known: Result<Value, Error> = hub.json(&Request::get(path)).await;
        known.is_ok_and(|known| known["id"] == theirs.as_str())
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_deref().unwrap_or("a waiter without a name"))?;
        match &self.session {
            Some(session) => write!(f, " (session {session}, since {})", self.since),
            None => write!(f, " (since {})", self.since),
        }
    }
}
