//! The waiter at an inbox, as it is shown to people.

use std::fmt;

use hub_protocol::{InboxName, Problem, ProjectName};
use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;
use crate::hub::{Hub, Path, Request};

/// The fields of a [`hub_protocol::Holder`] that are shown. Its time stays text, because it is only printed.
#[derive(Debug, Deserialize)]
pub(crate) struct Seat {
    #[serde(rename = "as", default)]
    name: Option<String>,
    /// The agent session that the waiter wakes.
    #[serde(default)]
    pub session: Option<String>,
    /// The name of that session, if it differs from `session`.
    #[serde(default)]
    session_name: Option<String>,
    /// How the waiter wakes the session: `rewake` or `wait`.
    #[serde(default)]
    pub way: Option<String>,
    since: String,
}

impl Seat {
    /// The holder of the inbox, from a refusal.
    pub(crate) fn of(problem: &Problem) -> Option<Self> {
        serde_json::from_str(&problem.more.get("holder")?.to_string()).ok()
    }

    /// Whether this waiter wakes the session that `session` names. After a `/clear` that id may be an alias, so the hub
    /// is asked.
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
        let name = || self.name.as_deref().unwrap_or("a waiter without a name");
        match self.session_name.as_ref().or(self.session.as_ref()) {
            // A session's waiter has the name of a process, so its way is shown instead.
            Some(session) => write!(
                f,
                "{} of {session}",
                self.way.as_deref().unwrap_or_else(name)
            )?,
            None => f.write_str(name())?,
        }
        write!(f, " (since {})", self.since)
    }
}
