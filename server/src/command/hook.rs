//! What an agent's hook told, in words that all agents share.

use hub_protocol::{InboxName, ProjectName, SessionInfo};
use serde_json::Value;

use super::Once;
use crate::record::Beginner;

/// One event of an agent's session.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// The project.
    pub project: ProjectName,
    /// The session's name, if it was given one (`HUB_SESSION`).
    pub given: Option<InboxName>,
    /// The agent's own id of it.
    pub id: InboxName,
    /// What is known of the session.
    pub info: SessionInfo,
    /// What happened.
    pub happened: Happened,
    /// The event's own name, for people.
    pub event: String,
    /// Take it in once for this key.
    pub once: Option<Once>,
}

/// What happened in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// It began, or goes on under another id.
    Started,
    /// A turn began.
    Prompt {
        /// By whom.
        by: Beginner,
        /// With what.
        text: String,
    },
    /// It did something: it works.
    Worked,
    /// A turn ended.
    Stopped {
        /// The last message.
        text: String,
        /// Background work that still runs.
        tasks: Vec<String>,
        /// Whether it goes on, because something was given to it.
        goes_on: bool,
    },
    /// The model failed.
    Failed {
        /// Why.
        reason: String,
        /// Whether nothing will mend it.
        for_good: bool,
    },
    /// It waits for a prompt.
    Idle {
        /// What the agent says of it.
        text: String,
    },
    /// It shows a dialog.
    Asks {
        /// What it asks.
        text: String,
        /// The answers it offers.
        options: Vec<String>,
        /// What the agent says of it.
        data: Value,
    },
    /// It needs a permission.
    Permission {
        /// For what.
        text: String,
        /// What the agent says of it; none where it only says that there is a dialog.
        data: Option<Value>,
    },
    /// It is over.
    Ended,
    /// Nothing that the hub keeps: only that it lives.
    Seen,
}
