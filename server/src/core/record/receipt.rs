//! Records about deliveries to sessions whose hooks prove that a notification arrived.

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp, Way};
use serde::{Deserialize, Serialize};

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

/// No hook event proved that these notifications arrived, so they are offered again in another way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// The project of the inbox.
    pub project: ProjectName,
    /// The session's inbox.
    pub inbox: InboxName,
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
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
