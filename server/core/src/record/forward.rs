//! The record of a forward's position.

use hub_protocol::{Seq, Timestamp};
use serde::{Deserialize, Serialize};

/// A forward that has passed notifications on, or has read answers from its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardNoted {
    /// The name of the forward.
    pub name: String,
    /// The last record that it is done with; absent if only answers were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Seq>,
    /// The target's id of the last answer that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// When the position was noted.
    pub at: Timestamp,
}
