//! Notifications as they are posted, stored and read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{InboxName, InboxTouched, Kind, Priority, ProjectName, Seq, Timestamp};

/// The largest notification in bytes of its stored JSON.
pub const MAX_ITEM_BYTES: usize = 64 * 1024;

/// A stored notification. Fields keep this order on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// Its number in the log, below 2^53.
    pub id: Seq,
    /// When it was said.
    pub ts: Timestamp,
    /// Who says it.
    pub from: InboxName,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The text.
    pub msg: String,
    /// The inbox it was sent to, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<InboxName>,
    /// The project it belongs to.
    pub project: ProjectName,
    /// How much it matters.
    pub priority: Priority,
    /// A line above the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Anything a program wants to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Whose state it changes, if not the sender's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// Whose worker the sender is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InboxName>,
    /// What it replaces: a newer one with the same key, project, inbox and sender supersedes it while it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The notification it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Seq>,
    /// When it stops being offered.
    pub expires_at: Timestamp,
    /// The answers a question offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// How many replies lie before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hops: u32,
    /// When the hub stored it, where that differs from `ts` (it was spooled).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Timestamp>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(hops: &u32) -> bool {
    *hops == 0
}

/// A notification as somebody posts it: only `msg` is needed. Aliases are those of other tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Post {
    /// The text.
    #[serde(alias = "message")]
    pub msg: String,
    /// Who says it; `unknown` when absent.
    #[serde(default, alias = "source", skip_serializing_if = "Option::is_none")]
    pub from: Option<InboxName>,
    /// The inbox to reach; without it the type decides.
    #[serde(default, alias = "target", skip_serializing_if = "Option::is_none")]
    pub to: Option<InboxName>,
    /// What it is; `complete`, without effect on the session's state, when absent.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// How much it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The project; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectName>,
    /// A line above the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Anything a program wants to add; `metadata.type` counts where `type` is absent.
    #[serde(default, alias = "metadata", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Whose state it changes, if not the sender's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// Whose worker the sender is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InboxName>,
    /// What it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The notification it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Seq>,
    /// When it stops being offered; 7 days from now (a question: 30 days) when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Seconds until it stops being offered, instead of `expires_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The answers a question offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// When it was said, if not now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Timestamp>,
}

/// What became of one posted notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Its number.
    pub id: Seq,
    /// The project it was taken into.
    pub project: ProjectName,
    /// The inboxes it was put into.
    pub inboxes: Vec<InboxTouched>,
    /// Waiters whose condition it met.
    pub woken: u32,
    /// What the sender may want to know: a misaddressed message must be loud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What became of a posted batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedBatch {
    /// The numbers, in the order of the request.
    pub ids: Vec<Seq>,
    /// The inboxes that the batch reached.
    pub inboxes: Vec<InboxTouched>,
    /// Waiters whose condition the batch met.
    pub woken: u32,
    /// What the sender may want to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
