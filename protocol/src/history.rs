//! The history: pages of stored notifications, and the steps of a delivery.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{AnswerDelivery, InboxName, Kind, Priority, ProjectName, Seq, Timestamp, Way};

crate::named! {
    /// The status of a notification.
    #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Status {
        /// The notification is only recorded: it went to no inbox.
        #[default]
        Recorded = "recorded",
        /// It is pending in an inbox.
        Pending = "pending",
        /// Its readers acknowledged it.
        Acked = "acked",
        /// It expired before a reader acknowledged it.
        Expired = "expired",
        /// Retention dropped it at the log's byte cap before a reader acknowledged it.
        Evicted = "evicted",
        /// A newer notification with the same key replaced it.
        Superseded = "superseded",
        /// It was withdrawn.
        Withdrawn = "withdrawn",
        /// Its inbox was closed, or its project reset.
        Dropped = "dropped",
        /// It is a question that was answered before one of its readers received it.
        Answered = "answered",
    }
}

/// The members that `GET /notifications` appends to each stored notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMarks {
    /// The notification's status.
    pub status: Status,
    /// Whether the person has read it.
    pub seen: bool,
    /// How far the answer to it has come, if it is an answered question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<AnswerDelivery>,
    /// The answer to it that counts, if it is an answered question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Seq>,
    /// How it ended, in a word, if it is a question that ended without an answer that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// One page of `GET /notifications`.
#[derive(Default, Debug, Serialize, Deserialize)]
pub struct HistoryPage {
    /// The notifications, each with its [`HistoryMarks`].
    pub notifications: Vec<Box<RawValue>>,
    /// Whether the hub stopped at its limit of records for one request before the page was full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The position of the next page, if there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
}

/// The number of a notification, for readers that do not use the rest of it.
#[derive(Default, Debug, Deserialize)]
pub struct NotificationId {
    /// The notification's id.
    pub id: Seq,
}

/// The delivery of a notification, `GET /notifications/{id}/trace`.
#[derive(Default, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// The notification's id.
    pub id: Seq,
    /// The notification as it is stored.
    pub notification: Box<RawValue>,
    /// Its status now, also if the steps are not complete yet.
    #[serde(default)]
    pub status: Status,
    /// The steps of its delivery, oldest first.
    pub steps: Vec<Step>,
    /// Whether the log goes on after what one request had the time to read; `next` says where to continue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The position to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
}

/// One step of a delivery.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// The record of this step; a lease has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// When it happened; a lease and a wake limit have no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The state that the step led to, such as `stored`, `leased` or `acked`.
    pub state: Cow<'static, str>,
    /// The project of the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectName>,
    /// The inbox; all inboxes when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbox: Option<InboxName>,
    /// The reader or the notification that caused the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How a reader showed the notification to its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<Way>,
    /// When the wake limit lets the notification wake its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The wake limit that holds the notification back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Why the notification wakes no reader of this inbox, so that it is delivered with the next one that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rides_along: Option<String>,
    /// For `stored`: why it goes to no inbox; for `emitted`: why in this way; for `returned`: why it could not be shown; for
    /// `unreachable`: why the hub cannot wake the session now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The answer to withdrawing notifications.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawn {
    /// The notifications that were pending until now.
    pub withdrawn: Vec<Seq>,
}

/// The body of `POST /seen`: `ids` and `up_to`, a filter with or without `up_to`, or `undo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRequest {
    /// The notifications to mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<Seq>>,
    /// Marks every notification up to and including this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Seq>,
    /// Marks only notifications of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectName>,
    /// Marks only notifications to this inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox: Option<InboxName>,
    /// Marks only notifications of these types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<Kind>>,
    /// Marks only notifications of this sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<InboxName>,
    /// Marks only notifications about this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// Marks only notifications of at least this priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_priority: Option<Priority>,
    /// Marks only notifications with this text in sender, title or message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Whether they are marked as read; `false` removes the mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<bool>,
    /// Sets the marks back that an earlier request changed: the `undo` of its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Seq>,
}

/// The answer to setting or removing marks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenReply {
    /// The mark that the notifications have now.
    pub seen: bool,
    /// The number of notifications whose mark changed.
    pub changed: u64,
    /// Undoes the change; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Seq>,
}
