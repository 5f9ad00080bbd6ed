//! The events of all agents, in one form.

use hub_protocol::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::turn_cause::TurnCause;

/// An event in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AgentEvent {
    /// The session began, or its process continues it under another id.
    Started,
    /// An earlier session goes on in this process, or a copy of one.
    Resumed,
    /// A turn began.
    Prompt {
        /// The cause of the turn.
        by: TurnCause,
        /// The prompt.
        text: String,
    },
    /// The agent did something, so it works.
    Worked,
    /// A turn ended.
    Stopped {
        /// The agent's last message.
        text: String,
        /// Descriptions of background work that still runs.
        tasks: Vec<String>,
        /// Whether the agent continues, because the hook's answer delivered something to it.
        continues: bool,
    },
    /// The person interrupted the turn or dismissed the dialog.
    Interrupted,
    /// The agent's model failed.
    Failed {
        /// The agent's error message.
        reason: String,
        /// Whether the failure is permanent.
        permanent: bool,
        /// When the agent may go on, if it reported that.
        until: Option<Timestamp>,
        /// Whether the hub lets it go on then.
        #[serde(default)]
        resumes: bool,
    },
    /// The agent waits for a prompt.
    Idle {
        /// The agent's message.
        text: String,
    },
    /// The agent shows a dialog with a question.
    Asks {
        /// The text of the question.
        text: String,
        /// The answers it offers.
        options: Vec<String>,
        /// The dialog as the agent described it.
        data: Value,
    },
    /// The agent needs a permission.
    Permission {
        /// A description of the requested action.
        text: String,
        /// The request as the agent described it; `None` if the agent reported only that it shows a dialog.
        data: Option<Value>,
    },
    /// The person ended the session, or its end cuts nothing off.
    Ended,
    /// The session ended, and the agent does not say that the person ended it: the turn that it was in is unfinished.
    Exited,
    /// The session's process goes on with another session.
    Left,
    /// The session goes on under another id, which its process reports next.
    Cleared,
    /// An event that only proves that the session is alive.
    Seen,
}

impl AgentEvent {
    /// Whether a session begins or goes on with this event.
    pub fn starts(&self) -> bool {
        matches!(self, Self::Started | Self::Resumed)
    }
}

impl AgentEvent {
    /// The agent's model failed, as its hook tells it: the hub finds out when a limit ends.
    pub fn failed(reason: impl Into<String>, permanent: bool) -> Self {
        Self::Failed {
            reason: reason.into(),
            permanent,
            until: None,
            resumes: false,
        }
    }
}

/// The words by which models' servers say that there is a limit, or more sessions than they serve now: clients wait for its end.
const LIMITS: [&str; 5] = [
    "rate limit",
    "rate_limit",
    "usage limit",
    "session limit",
    "overloaded",
];
/// The same as statuses of HTTP.
const LIMIT_STATUSES: [&str; 2] = ["429", "529"];

/// Whether an error message tells a limit. All else that stops a session has no end to wait for.
pub(crate) fn tells_limit(reason: &str) -> bool {
    let words = reason.to_ascii_lowercase();
    // The same digits in an id or a duration are no status.
    let mut numbers = words.split(|it: char| !it.is_ascii_alphanumeric());
    LIMITS.iter().any(|it| words.contains(it)) || numbers.any(|it| LIMIT_STATUSES.contains(&it))
}
