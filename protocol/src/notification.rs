//! Notifications as they are posted, stored and read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Evidence, InboxName, InboxTouched, Kind, Priority, ProjectName, Seq, Timestamp};

/// The largest notification that a client posts, in bytes of its stored JSON; and the longest text of an agent that the hub keeps,
/// in bytes.
pub const MAX_ITEM_BYTES: usize = 64 * 1024;

/// The member of a hook's JSON by which `hubctl hook` says that it has left out parts of it, with its size.
pub const CUT_MARK: &str = "hub_cut";

/// A stored notification. Fields keep this order on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// The number of the notification's record in the log, below 2^53.
    pub id: Seq,
    // Here, so that the hub can put both in front of the JSON that it made of the post.
    /// The turn of its sender in which it was sent, or after which, named by the turn's first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Seq>,
    /// When the sender posted it.
    pub ts: Timestamp,
    /// The sender.
    pub from: InboxName,
    /// The name that the sender's session had then, if it differs from `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_name: Option<String>,
    /// The type, JSON field `type`.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The text.
    pub msg: String,
    /// The inbox that the sender named; absent if the type decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<InboxName>,
    /// The project that it belongs to.
    pub project: ProjectName,
    /// The priority, which decides the order of delivery.
    pub priority: Priority,
    /// A line above the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Any JSON value that the sender adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The session whose state this changes, if it is not the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// The session that the sender is a worker of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InboxName>,
    /// The key to replace it by: a newer notification with the same key, project, inbox and sender supersedes it while
    /// it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The id of the notification that this one answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Seq>,
    /// When the hub stops offering it.
    pub expires_at: Timestamp,
    /// The answers that a question offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// The answers to the questions of a dialog that has several, in their order; `msg` repeats them for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<String>>,
    /// The number of replies before it in its thread.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hops: u32,
    /// When the hub stored it, if that differs from `ts`, because the notification was spooled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Timestamp>,
    /// The name of the rule that muted it: it wakes and alerts nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted_by: Option<String>,
    /// Why the hub's own notification wakes nobody, if its type and priority do not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rides_along: Option<String>,
    /// The evidence of who gave an answer, as the hub observed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The id of the question that an earlier hook of the same dialog asked, and that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Seq>,
}

impl Notification {
    /// The environment variables of a command that is run for it; `None` for a field that it lacks. `session` and `parent`
    /// are left out: their variables would make a hubctl that the command calls send in the name of the sender.
    pub fn variables(&self) -> [(&'static str, Option<String>); 12] {
        let data = self.data.as_ref().map(|data| match data {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        });
        let variables = [
            ("HUB_ID", Some(self.id.to_string())),
            ("HUB_TS", Some(self.ts.to_string())),
            ("HUB_FROM", Some(self.from.to_string())),
            ("HUB_TYPE", Some(self.kind.to_string())),
            ("HUB_MSG", Some(self.msg.clone())),
            ("HUB_TO", self.to.as_ref().map(ToString::to_string)),
            ("HUB_PROJECT", Some(self.project.to_string())),
            ("HUB_PRIORITY", Some(self.priority.to_string())),
            ("HUB_TITLE", self.title.clone()),
            ("HUB_DATA", data),
            ("HUB_KEY", self.key.clone()),
            ("HUB_REPLY_TO", self.reply_to.map(|id| id.to_string())),
        ];
        // A variable cannot contain NUL.
        variables.map(|(name, value)| (name, value.map(|it| it.replace('\0', "\u{fffd}"))))
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(hops: &u32) -> bool {
    *hops == 0
}

/// A notification as a client posts it; only `msg` is required. Aliases are the field names of other tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Post {
    /// The text.
    #[serde(alias = "message")]
    pub msg: String,
    /// The sender; `unknown` when absent.
    #[serde(default, alias = "source", skip_serializing_if = "Option::is_none")]
    pub from: Option<InboxName>,
    /// The inbox to deliver it to; when absent, the type decides.
    #[serde(default, alias = "target", skip_serializing_if = "Option::is_none")]
    pub to: Option<InboxName>,
    /// The type; when absent it is `complete` and does not change the session's state.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The priority; `normal` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The project; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectName>,
    /// A line above the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Any JSON value; `metadata.type` is the type if `type` is absent.
    #[serde(
        default,
        alias = "metadata",
        deserialize_with = "crate::null::value",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Value>,
    /// The session whose state this changes, if it is not the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// The session that the sender is a worker of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InboxName>,
    /// The key to replace it by, as in [`Notification::key`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The id of the notification that this one answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Seq>,
    /// When the hub stops offering it; when absent, in 7 days, or in 30 days for a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Seconds until the hub stops offering it, instead of `expires_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// The answers that a question offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// When it was posted, if not now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Timestamp>,
}

/// The hub's answer to one posted notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The notification's id.
    pub id: Seq,
    /// The project that the hub stored it in.
    pub project: ProjectName,
    /// The inboxes that the hub put it into.
    pub inboxes: Vec<InboxTouched>,
    /// The number of waiters that it woke.
    pub woken: u32,
    /// A warning for the sender, for example that the message was addressed to an unknown session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The hub's answer to a posted batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedBatch {
    /// The ids, in the order of the request.
    pub ids: Vec<Seq>,
    /// The inboxes that the hub put the batch into.
    pub inboxes: Vec<InboxTouched>,
    /// The number of waiters that the batch woke.
    pub woken: u32,
    /// A warning for the sender, as in [`Published::hint`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
