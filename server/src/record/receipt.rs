//! Facts about deliveries to sessions whose hooks prove that they got them.

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp, Way};
use serde::{Deserialize, Serialize};

/// A session's reader has shown these; the session's next hook event proves that they arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emitted {
    /// The project.
    pub project: ProjectName,
    /// The inbox.
    pub inbox: InboxName,
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// How they were shown.
    pub way: Way,
    /// The reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Nothing proved that these arrived: they are offered again, in another way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// The project.
    pub project: ProjectName,
    /// The inbox.
    pub inbox: InboxName,
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// When.
    pub at: Timestamp,
}

/// The person was told that these reach nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalated {
    /// The project.
    pub project: ProjectName,
    /// The inbox.
    pub inbox: InboxName,
    /// The notifications, ascending.
    pub ids: Vec<Seq>,
    /// When.
    pub at: Timestamp,
}
