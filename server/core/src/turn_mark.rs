//! The mark of a hook's notification that tells which step of a turn it reports.

use hub_protocol::{Notification, Seq};
use serde::{Deserialize, Serialize};

use super::asked::of_hook;
use super::record::TurnCause;

/// The member of the data that has the mark.
pub const TURN: &str = "turn";

/// A step of a turn. Notifications in older logs have none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum TurnMark {
    /// The agent started to work.
    Began {
        /// The cause of the turn.
        by: TurnCause,
        /// The notifications that the session was shown before, and of which this is the first sign.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        woken_by: Vec<Seq>,
    },
    /// The agent stopped.
    Stopped,
    /// The person interrupted it.
    Interrupted,
    /// The agent's model failed and may recover.
    Failed,
}

impl TurnMark {
    /// Returns the mark of a notification, if a hook gave it one.
    pub fn of(it: &Notification) -> Option<Self> {
        Self::deserialize(&of_hook(it)?[TURN]).ok()
    }
}
