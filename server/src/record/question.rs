//! Facts about questions. That one was asked is its notification.

use hub_protocol::{QuestionState, Seq, Timestamp};
use serde::{Deserialize, Serialize};

/// Somebody is on a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionClaimed {
    /// The question.
    pub id: Seq,
    /// Who.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A question is settled, for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionSettled {
    /// The question.
    pub id: Seq,
    /// How.
    pub state: QuestionState,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The notification that answers it, or that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Seq>,
    /// When.
    pub at: Timestamp,
}
