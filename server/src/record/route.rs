//! Where a notification goes.

use hub_protocol::{InboxName, Kind, Priority, ProjectName, SessionState, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What the fold needs to know of a notification. Stored as an array in the order of the fields, times in milliseconds:
/// it is written and read for every notification, beside JSON that says most of it again.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The project.
    pub project: ProjectName,
    /// Who said it.
    pub from: InboxName,
    /// What it is.
    pub kind: Kind,
    /// How it is ordered and limited: its own priority, or the higher one of an item it superseded.
    pub priority: Priority,
    /// When it was said.
    pub ts: Timestamp,
    /// When it stops being offered.
    pub expires_at: Timestamp,
    /// The inboxes it is pending in; empty for what is only recorded.
    pub targets: Vec<Target>,
    /// What it replaces.
    pub key: Option<String>,
    /// The session whose state it changes, and to what.
    pub session: Option<(InboxName, SessionState)>,
    /// How many replies lie before it.
    pub hops: u32,
}

/// A route as it is read back.
type StoredRoute = (
    ProjectName,
    InboxName,
    Kind,
    Priority,
    i64,
    i64,
    Vec<Target>,
    Option<String>,
    Option<(InboxName, SessionState)>,
    u32,
);

impl Serialize for Route {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = (
            &self.project,
            &self.from,
            self.kind,
            self.priority,
            self.ts.as_millis(),
            self.expires_at.as_millis(),
            &self.targets,
            &self.key,
            &self.session,
            self.hops,
        );
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Route {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (project, from, kind, priority, ts, expires_at, targets, key, session, hops) =
            StoredRoute::deserialize(deserializer)?;
        Ok(Self {
            project,
            from,
            kind,
            priority,
            ts: Timestamp::from_millis(ts),
            expires_at: Timestamp::from_millis(expires_at),
            targets,
            key,
            session,
            hops,
        })
    }
}

/// One inbox of a notification; stored as a pair.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "(InboxName, bool)")]
pub struct Target {
    /// The inbox.
    pub inbox: InboxName,
    /// Whether it wakes the waiter there, or rides along.
    pub wakes: bool,
}

impl From<(InboxName, bool)> for Target {
    fn from((inbox, wakes): (InboxName, bool)) -> Self {
        Self { inbox, wakes }
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.inbox, self.wakes).serialize(serializer)
    }
}
