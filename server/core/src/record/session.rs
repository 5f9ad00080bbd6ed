//! Records about sessions and their listeners.

use hub_agents::TurnCause;
use hub_protocol::{InboxName, Process, ProjectName, Seq, SessionInfo, Timestamp};
use serde::{Deserialize, Serialize};

/// New or changed properties of a session; it begins or resumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSet {
    /// The session's project.
    pub project: ProjectName,
    /// The session's first id, which identifies it for good.
    pub session: InboxName,
    /// The properties that changed; the name is unique in the project.
    pub info: Box<SessionInfo>,
    /// Another id that means this session from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<InboxName>,
    /// Whether the agent's hooks reported it.
    #[serde(default)]
    pub hooks: bool,
    /// Whether `hub-acp` reported it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acp: bool,
    /// Another process that runs it too from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Process>,
    /// A process that no longer runs it: it ended, or it runs another session now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Process>,
    /// Whether `hubctl run` runs a command as the session from now on; `false` once an agent in the command has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<bool>,
    /// When it was registered.
    pub at: Timestamp,
}

impl SessionSet {
    /// A record that changes nothing of a session.
    pub fn of((project, session): (&ProjectName, &InboxName), at: Timestamp) -> Self {
        Self {
            project: project.clone(),
            session: session.clone(),
            info: Box::default(),
            alias: None,
            hooks: false,
            acp: false,
            also: None,
            left: None,
            runs: None,
            at,
        }
    }
}

/// A step of a session's turn that one of the agent's hooks reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnNoted {
    /// The session's project.
    pub project: ProjectName,
    /// The session's first id.
    pub session: InboxName,
    /// The step that the hook reported.
    pub turn: Turn,
    /// The source of the report, shown to people: `Stop hook`; empty if no hook reported it.
    pub evidence: String,
    /// When it was reported.
    pub at: Timestamp,
}

/// A step of a session's turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Turn {
    /// The agent started to work.
    Began {
        /// The cause of the turn.
        by: TurnCause,
        /// The first record of the turn, if that is not this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<Seq>,
    },
    /// It became known who began the turn.
    Attributed {
        /// The cause of the turn.
        by: TurnCause,
    },
    /// The agent stopped.
    Stopped {
        /// Descriptions of background work that still runs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<String>,
        /// Whether the stop made no notification of its own: another one covers it, or none is needed.
        #[serde(default)]
        silent: bool,
        /// Whether the agent did anything in the turn: a tool call other than waiting. `None` if that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acted: Option<bool>,
        /// The agent's last message, if no notification of the stop has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// The agent's model failed and may recover.
    Failed {
        /// The agent's error message.
        reason: String,
        /// When the agent may go on, if it reported that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// Whether the hub lets the session go on then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumes: bool,
    },
    /// The person, or the hub once it has done so, decided whether the session goes on when its limit ends.
    Resumes {
        /// Whether it does.
        on: bool,
    },
}

/// The person closed what a session needs of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedClosed {
    /// The session's project.
    pub project: ProjectName,
    /// The session's first id.
    pub session: InboxName,
    /// When the need opens again, if the session still has it; `None` closes it for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// When the person closed it.
    pub at: Timestamp,
}

/// A session ended, or its process exited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The session's project.
    pub project: ProjectName,
    /// The session's first id.
    pub session: InboxName,
    /// When the end was detected.
    pub at: Timestamp,
    /// Whether the session reported its own end; its last notification then says how it ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// A session became its project's primary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimaryTaken {
    /// The session's project.
    pub project: ProjectName,
    /// The new primary's first id.
    pub session: InboxName,
    /// When it became primary.
    pub at: Timestamp,
}

/// A session listens for another session's next stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerSet {
    /// The project of both sessions.
    pub project: ProjectName,
    /// The session whose stop is awaited.
    pub target: InboxName,
    /// The session that is notified of the stop.
    pub caller: InboxName,
    /// The deadline for the stop, if there is one; without a stop by then, the caller is notified too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// When the listener was added or its deadline changed.
    pub at: Timestamp,
}

/// A listener was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerRemoved {
    /// The project of both sessions.
    pub project: ProjectName,
    /// The session whose stop was awaited.
    pub target: InboxName,
    /// The session that was to be notified.
    pub caller: InboxName,
    /// Why the listener was removed.
    pub why: ListenerEnd,
    /// When it was removed.
    pub at: Timestamp,
}

/// Why a listener was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum ListenerEnd {
    /// The target stopped.
    Fired {
        /// The notification that reported the stop.
        cause: Seq,
    },
    /// The deadline passed without a stop.
    Late,
    /// The listener was withdrawn.
    Removed,
    /// The caller ended.
    CallerEnded,
}
