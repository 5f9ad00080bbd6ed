//! What the person has to do: decided by the hub, drawn by every view.

use serde::{Deserialize, Serialize};

use crate::{InboxName, Priority, ProjectName, Seq, Timestamp};

/// What a need is about, the most urgent first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// Somebody sent the person an urgent message.
    Urgent,
    /// An agent asks whether it may use a tool.
    Permission,
    /// An agent asks.
    #[default]
    Question,
    /// An agent asks whether it may carry out a plan.
    Plan,
    /// A server that an agent uses asks for details.
    Form,
    /// A session's process died at work.
    Died,
    /// A session has an error.
    Error,
    /// A session has stopped and waits for a prompt.
    Turn,
    /// A session cannot go on for now, and goes on by itself.
    Limit,
    /// A session is at work and has reported nothing for ten minutes.
    Silent,
}

impl NeedKind {
    /// Whether it counts in the number of needs that every view shows: the others end by themselves.
    pub fn counts(self) -> bool {
        !matches!(self, Self::Limit | Self::Silent)
    }

    /// Whether the person ends it by saying so. A question ends by its answer.
    pub fn is_closable(self) -> bool {
        !matches!(
            self,
            Self::Permission | Self::Question | Self::Plan | Self::Form
        )
    }
}

/// Something that the person has to do. It ends when it is done, not when it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// What names it for as long as it exists.
    pub id: String,
    /// What it is about.
    pub kind: NeedKind,
    /// When it began.
    pub since: Timestamp,
    /// When a limit ends, if the agent reported that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The project of the session or sender.
    pub project: ProjectName,
    /// The name of the session or sender, for people.
    pub name: String,
    /// The session's permanent id, if the hub knows the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// The notification that says more: the question, or the session's last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<Seq>,
    /// The priority of that notification.
    #[serde(default)]
    pub priority: Priority,
    /// The rule that keeps it from calling the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted_by: Option<String>,
    /// What it wants, after the name: `wants to run a command`.
    pub title: String,
    /// The beginning of its text, at most 240 characters.
    pub brief: String,
    /// Whether `brief` is the whole of what an answer allows or settles.
    pub complete: bool,
    /// The whole text, as the agent wrote it. Only in `GET /needs/{id}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The answer to `GET /needs`, and the data of the event `need`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// What the person has to do, the most urgent kind first, and within a kind the oldest.
    pub needs: Vec<Need>,
}

/// The body of `POST /needs/{id}/snooze`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snooze {
    /// When the need opens again, if it still exists.
    pub until: Timestamp,
}
