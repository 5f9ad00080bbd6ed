//! Facts about sessions and those who listen for them.

use hub_protocol::{InboxName, ProjectName, Seq, SessionInfo, Timestamp};
use serde::{Deserialize, Serialize};

/// What is newly known of a session; it begins, or begins again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSet {
    /// The project.
    pub project: ProjectName,
    /// Its first id.
    pub session: InboxName,
    /// What changed; its name is unique in the project.
    pub info: SessionInfo,
    /// Another id that it goes by from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<InboxName>,
    /// Whether its agent's hooks said so.
    #[serde(default)]
    pub hooks: bool,
    /// When.
    pub at: Timestamp,
}

/// What an agent's hook told of its session's turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnNoted {
    /// The project.
    pub project: ProjectName,
    /// The session.
    pub session: InboxName,
    /// What happened.
    pub turn: Turn,
    /// What told it, for people: `Stop hook`.
    pub evidence: String,
    /// When.
    pub at: Timestamp,
}

/// A step of a session's turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Turn {
    /// It works.
    Began {
        /// Who began it.
        by: Beginner,
    },
    /// The agent stopped.
    Stopped {
        /// Background work that still runs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<String>,
        /// Whether it said nothing by it: another notification, or nothing at all, stands for it.
        #[serde(default)]
        silent: bool,
    },
    /// The agent's model failed, for now.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Who began a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beginner {
    /// Somebody typed.
    #[default]
    Person,
    /// A wake, by the hub or by a background task.
    Wake,
    /// The hub's own waiter, whose time was over.
    Timeout,
    /// The agent itself went on.
    Agent,
}

/// A session's process is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionGone {
    /// The project.
    pub project: ProjectName,
    /// The session.
    pub session: InboxName,
    /// When that was seen.
    pub at: Timestamp,
}

/// A session became its project's primary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimaryTaken {
    /// The project.
    pub project: ProjectName,
    /// The session.
    pub session: InboxName,
    /// When.
    pub at: Timestamp,
}

/// A session wants to hear of another's next stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerSet {
    /// The project.
    pub project: ProjectName,
    /// Who is listened to.
    pub target: InboxName,
    /// Who is told.
    pub caller: InboxName,
    /// Until when something must have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// When.
    pub at: Timestamp,
}

/// A listener is no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerRemoved {
    /// The project.
    pub project: ProjectName,
    /// Who was listened to.
    pub target: InboxName,
    /// Who was to be told.
    pub caller: InboxName,
    /// Why.
    pub why: ListenerEnd,
    /// When.
    pub at: Timestamp,
}

/// Why a listener is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum ListenerEnd {
    /// The target stopped.
    Fired {
        /// The notification that said so.
        cause: Seq,
    },
    /// Nothing came in time.
    Late,
    /// It was taken back.
    Removed,
    /// Who was to be told is over.
    CallerEnded,
}
