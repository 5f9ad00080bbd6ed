//! Inboxes as a client sees them.

use serde::{Deserialize, Serialize};

use crate::{InboxName, ProjectName, Seq, Timestamp};

/// An inbox that a notification was put into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxTouched {
    /// Its name.
    pub name: InboxName,
    /// Whether this made it.
    pub created: bool,
    /// Whether somebody waits there.
    pub waiter: bool,
    /// When this made it: the nearest name that was known before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<InboxName>,
}

/// Who waits at an inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The waiter's own name (`as`), if it gave one.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The agent session that it wakes, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// How it wakes that session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<crate::Way>,
    /// Since when.
    pub since: Timestamp,
}

/// One inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxInfo {
    /// The project it belongs to.
    pub project: ProjectName,
    /// Its name.
    pub name: InboxName,
    /// How many notifications are pending.
    pub pending: u64,
    /// How many of those are leased to a reader now.
    pub leased: u64,
    /// The oldest pending one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Seq>,
    /// When the oldest pending one was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_ts: Option<Timestamp>,
    /// Who waits there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiter: Option<Holder>,
}
