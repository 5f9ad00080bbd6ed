//! Records about questions. The asking itself is a notification.

use hub_protocol::{QuestionState, Seq, Timestamp};
use serde::{Deserialize, Serialize};

/// An answerer claimed a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionClaimed {
    /// The number of the question.
    pub id: Seq,
    /// The session or person that claimed it.
    pub by: String,
    /// When it was claimed.
    pub at: Timestamp,
}

/// A question reached its final state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionSettled {
    /// The number of the question.
    pub id: Seq,
    /// The final state.
    pub state: QuestionState,
    /// The session or person that answered or withdrew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The notification that answers the question or supersedes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Seq>,
    /// When it was settled.
    pub at: Timestamp,
}
