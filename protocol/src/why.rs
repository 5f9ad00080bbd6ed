//! Why a session was or was not woken, `GET /why/{target}`.

use serde::{Deserialize, Serialize};

use crate::{InboxName, ProjectName, Seq, Timestamp, Way};

/// The reason why a notification did or did not wake the reader of an inbox. Each notification has exactly one in each of
/// its inboxes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It woke the session.
    Woken,
    /// The answer to a hook of a running turn delivered it.
    DeliveredByHook,
    /// It is no longer pending: a reader acknowledged it, it expired, or it was withdrawn, replaced or dropped.
    Settled,
    /// It is only recorded: it went to no inbox.
    Recorded,
    /// The session has no pending notification.
    NothingPending,
    /// A reader has received it and may still acknowledge it.
    Leased,
    /// It wakes nobody and is delivered with the next notification that does.
    RidesAlong,
    /// The waiter's filter or barrier excludes it.
    Filtered,
    /// Another reader occupies the inbox, and its filter or barrier excludes the notification.
    InboxHeld,
    /// The waiter collects a burst before it wakes.
    Settling,
    /// A wake limit is reached.
    Limit,
    /// The session is at work: the answer to its next hook delivers it.
    Busy,
    /// The session shows a dialog, so no turn can begin.
    Asks,
    /// The hub is just about to wake the session.
    Waking,
    /// No way to wake the session works.
    NoTransport,
    /// No hook of the session has ever reported to the hub.
    NoHooks,
    /// The agent does not run the hub's hooks, because the person has not trusted them.
    HookUntrusted,
    /// The session has ended.
    Ended,
    /// No session reads the inbox, and nobody waits there.
    NoReader,
    /// The person has muted the sender or the project.
    Muted,
    /// The person has muted the sender or the project until a time.
    Snoozed,
    /// The person's quiet hours.
    QuietHours,
    /// The person's settings raise no alert for this type.
    NoAlert,
    /// The person has been alerted, or is by the next dashboard that looks, and has not read it.
    AwaitsPerson,
    /// The person has read it.
    Seen,
    /// A reason that this version does not know. A newer hub may send it; the hub of this version never does.
    #[default]
    #[serde(other)]
    Other,
}

impl Reason {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Woken => "woken",
            Self::DeliveredByHook => "delivered_by_hook",
            Self::Settled => "settled",
            Self::Recorded => "recorded",
            Self::NothingPending => "nothing_pending",
            Self::Leased => "leased",
            Self::RidesAlong => "rides_along",
            Self::Filtered => "filtered",
            Self::InboxHeld => "inbox_held",
            Self::Settling => "settling",
            Self::Limit => "limit",
            Self::Busy => "busy",
            Self::Asks => "asks",
            Self::Waking => "waking",
            Self::NoTransport => "no_transport",
            Self::NoHooks => "no_hooks",
            Self::HookUntrusted => "hook_untrusted",
            Self::Ended => "ended",
            Self::NoReader => "no_reader",
            Self::Muted => "muted",
            Self::Snoozed => "snoozed",
            Self::QuietHours => "quiet_hours",
            Self::NoAlert => "no_alert",
            Self::AwaitsPerson => "awaits_person",
            Self::Seen => "seen",
            Self::Other => "other",
        }
    }
}

/// The answer to `GET /why/{target}`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The reason in one line, for people.
    pub summary: String,
    /// The reason of the notification that the summary is about.
    pub reason: Reason,
    /// One entry for each notification and inbox.
    pub items: Vec<WhyItem>,
    /// How many more notifications are pending than `items` lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// The events in order of time, and the present state last.
    pub details: Vec<WhyDetail>,
}

/// One notification in one inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyItem {
    /// The notification.
    pub id: Seq,
    /// The project of the inbox.
    pub project: ProjectName,
    /// The inbox; absent for a notification that went to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox: Option<InboxName>,
    /// The reason.
    pub reason: Reason,
    /// The reason in one line, for people.
    pub text: String,
    /// When the reason ends by itself, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The reader, or the sender that has used up a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The ways that were tried, and why each failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<FailedWay>,
}

/// A way to wake a session that cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedWay {
    /// The way.
    pub way: Way,
    /// Why it cannot be used.
    pub why: String,
}

/// One line of the details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyDetail {
    /// When it happened; absent for the present state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The event or the state, for people.
    pub text: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_zero(count: &u64) -> bool {
    *count == 0
}
