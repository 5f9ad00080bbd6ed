//! Why a session was or was not woken, `GET /why/{target}`.

use serde::{Deserialize, Serialize};

use crate::{InboxName, ProjectName, Seq, Timestamp, Way};

crate::named! {
    /// The reason why a notification did or did not wake the reader of an inbox. Each notification has exactly one in each
    /// of its inboxes.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Reason {
        /// It woke the session.
        Woken = "woken",
        /// The answer to a hook of a running turn delivered it.
        DeliveredByHook = "delivered_by_hook",
        /// It is no longer pending: a reader acknowledged it, it expired, or it was withdrawn, replaced or dropped.
        Settled = "settled",
        /// It is only recorded: it went to no inbox.
        Recorded = "recorded",
        /// The session has no pending notification.
        NothingPending = "nothing_pending",
        /// A reader has received it and may still acknowledge it.
        Leased = "leased",
        /// It wakes nobody and is delivered with the next notification that does.
        RidesAlong = "rides_along",
        /// The waiter's filter or barrier excludes it.
        Filtered = "filtered",
        /// Another reader occupies the inbox, and its filter or barrier excludes the notification.
        InboxHeld = "inbox_held",
        /// The waiter collects a burst before it wakes.
        Settling = "settling",
        /// A wake limit is reached.
        Limit = "limit",
        /// The session is at work: the answer to its next hook delivers it.
        Busy = "busy",
        /// The session shows a dialog, so no turn can begin.
        Asks = "asks",
        /// The hub is just about to wake the session.
        Waking = "waking",
        /// No way to wake the session works.
        NoTransport = "no_transport",
        /// No hook of the session has ever reported to the hub.
        NoHooks = "no_hooks",
        /// The agent does not run the hub's hooks, because the person has not trusted them.
        HookUntrusted = "hook_untrusted",
        /// The session has ended.
        Ended = "ended",
        /// No session reads the inbox, and nobody waits there.
        NoReader = "no_reader",
        /// The person has muted the sender or the project.
        Muted = "muted",
        /// The person has muted the sender or the project until a time.
        Snoozed = "snoozed",
        /// The person's quiet hours.
        QuietHours = "quiet_hours",
        /// The person's settings raise no alert for this type.
        NoAlert = "no_alert",
        /// The person has been alerted, or is by the next dashboard that looks, and has not read it.
        AwaitsPerson = "awaits_person",
        /// The person has read it.
        Seen = "seen",
        /// A reason that this version does not know. A newer hub may send it; the hub of this version never does.
        #[default]
        #[serde(other)]
        Other = "other",
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
