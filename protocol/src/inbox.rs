//! Inboxes as the API shows them.

use serde::{Deserialize, Serialize};

use crate::{InboxName, ProjectName, Seq, Timestamp};

/// An inbox that a notification was put into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxTouched {
    /// The inbox's name.
    pub name: InboxName,
    /// Whether this notification created the inbox.
    pub created: bool,
    /// Whether a waiter is connected to it.
    pub waiter: bool,
    /// The most similar name that existed before; only if this notification created the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<InboxName>,
    /// The name of the session that owns the inbox, if it differs from `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Whether that session is over: it reads its inbox only if it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}

/// The waiter at an inbox.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The waiter's own name (`as`), if it gave one.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The agent session that the waiter wakes, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// The name of that session, if it differs from `session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
    /// How the waiter wakes that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<crate::Way>,
    /// When the waiter connected.
    pub since: Timestamp,
}

/// One inbox, as `GET /inboxes` lists it.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxInfo {
    /// The project it belongs to.
    pub project: ProjectName,
    /// The inbox's name.
    pub name: InboxName,
    /// How many notifications are pending.
    pub pending: u64,
    /// How many of the pending notifications are leased to a reader now.
    pub leased: u64,
    /// The id of the oldest pending notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Seq>,
    /// When the oldest pending notification was posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_ts: Option<Timestamp>,
    /// How many pending notifications a wake limit holds back from the session that reads this inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// When the wake limit lets the first of those wake the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// The name of the session that owns the inbox, if it differs from `name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The waiter, if one is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiter: Option<Holder>,
}

/// The answer to `GET /inboxes`.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inboxes {
    /// The inboxes, by project and name.
    pub inboxes: Vec<InboxInfo>,
}

/// The answer to closing an inbox or resetting a project.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The notifications that were pending until now.
    pub dropped: Vec<Seq>,
}

impl InboxTouched {
    /// The session's name if there is one, else the inbox's: the name to show to people.
    pub fn shown(&self) -> &str {
        self.session.as_deref().unwrap_or(self.name.as_str())
    }
}
