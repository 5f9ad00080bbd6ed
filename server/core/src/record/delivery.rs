//! Records about deliveries: a notification is pending in an inbox, may be emitted to a session whose hooks prove that it
//! arrived, returned for lack of proof, escalated to the person, and is settled in the end.

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp, Way};
use serde::{Deserialize, Serialize};

/// Notifications that stopped being pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// The inbox in which they stopped being pending; without it, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox: Option<(ProjectName, InboxName)>,
    /// Why they are no longer pending.
    pub how: SettleReason,
    /// The waiter that acknowledged them, or the notification that replaced them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When they stopped being pending.
    pub at: Timestamp,
}

/// Why a notification is no longer pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettleReason {
    /// A reader acknowledged it.
    Acked,
    /// It reached its expiry time.
    Expired,
    /// Retention dropped it, because the log reached its byte cap.
    Evicted,
    /// A newer notification with the same key replaced it.
    Superseded,
    /// It was withdrawn.
    Withdrawn,
    /// Its inbox was closed, or its project reset.
    Dropped,
    /// Its question was answered before this inbox's reader received it.
    Answered,
}

impl SettleReason {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Expired => "expired",
            Self::Evicted => "evicted",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
            Self::Dropped => "dropped",
            Self::Answered => "answered",
        }
    }
}

/// A session's reader showed these notifications; the session's next hook event proves that they arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emitted {
    /// The project of the inbox.
    pub project: ProjectName,
    /// The session's inbox.
    pub inbox: InboxName,
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// How they were shown.
    pub way: Way,
    /// The name of the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When they were shown.
    pub at: Timestamp,
}

/// No hook event proved that these notifications arrived, or they could not be shown, so they are offered again in
/// another way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// The project of the inbox.
    pub project: ProjectName,
    /// The session's inbox.
    pub inbox: InboxName,
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// Why they could not be shown; without it, no hook event proved that they arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When they were returned to the inbox.
    pub at: Timestamp,
}

/// The person was notified that these notifications could not be delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalated {
    /// The project of the inbox.
    pub project: ProjectName,
    /// The session's inbox.
    pub inbox: InboxName,
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// When the person was notified.
    pub at: Timestamp,
}
