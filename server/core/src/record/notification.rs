//! The records of a notification: its route, which the fold reads, and its immutable JSON, which readers get.

use bytes::Bytes;
use hub_protocol::{InboxName, Kind, Priority, ProjectName, Seq, SessionState, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{DecodeError, framed, json, kinds, parse, unframed};

/// A notification and its route.
#[derive(Debug, Clone, PartialEq)]
pub struct Notified {
    /// The part of the notification that the fold reads.
    pub route: Route,
    /// The notification's immutable JSON object, one line.
    pub json: Bytes,
}

/// The part of a notification that the fold reads. It is stored as an array in the order of the fields, with times in
/// milliseconds. The compact form matters, because a route is written and read for every notification beside JSON that
/// repeats most of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The notification's project.
    pub project: ProjectName,
    /// The sender.
    pub from: InboxName,
    /// The notification's type.
    pub kind: Kind,
    /// The priority that orders and limits it: its own, or the higher one of an item it superseded.
    pub priority: Priority,
    /// When it was sent.
    pub ts: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The inboxes it is pending in; empty if it is only recorded.
    pub targets: Vec<Target>,
    /// The collapse key: this notification replaces the sender's pending one with the same key.
    pub key: Option<String>,
    /// The session whose state it changes, and the new state.
    pub session: Option<(InboxName, SessionState)>,
    /// The number of replies between it and the first notification of its thread.
    pub hops: u32,
}

/// The stored form of a [`Route`].
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

/// One target inbox of a notification; stored as a pair.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "(InboxName, bool)")]
pub struct Target {
    /// The name of the inbox.
    pub inbox: InboxName,
    /// Whether it wakes the waiter there; otherwise it is delivered with the next item that does.
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

/// A pending notification, written again at the head so that its old block can be dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewritten {
    /// The notification's own number, which stays the same.
    pub id: Seq,
    /// The notification's immutable JSON.
    pub json: Bytes,
}

impl Notified {
    pub(super) fn encode(&self) -> Bytes {
        framed(&json(&self.route), &self.json)
    }

    pub(super) fn decode(payload: &Bytes) -> Result<Self, DecodeError> {
        let (route, json) = unframed(kinds::NOTIFIED, payload)?;
        Ok(Self {
            route: parse(kinds::NOTIFIED, route)?,
            json: payload.slice_ref(json),
        })
    }
}

impl Rewritten {
    pub(super) fn encode(&self) -> Bytes {
        framed(self.id.to_string().as_bytes(), &self.json)
    }

    pub(super) fn decode(payload: &Bytes) -> Result<Self, DecodeError> {
        let (id, json) = unframed(kinds::REWRITTEN, payload)?;
        Ok(Self {
            id: parse(kinds::REWRITTEN, id)?,
            json: payload.slice_ref(json),
        })
    }
}
