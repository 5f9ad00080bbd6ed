//! The phase of a session: whether it needs the person, and otherwise what it does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Seq, Timestamp};

/// The phase of a session, the most urgent first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// It asks: a question, a permission, a plan or a form is open.
    NeedsYou,
    /// It cannot go on: an error, a rate limit, a dead process, or a long silence at work.
    Blocked,
    /// It stopped and waits for a prompt, until the person says that it is done.
    YourTurn,
    /// It works.
    Working,
    /// It stopped, and nothing waits for the person: they said so, or another session was notified.
    #[default]
    Done,
    /// It has ended.
    Gone,
}

impl PhaseName {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NeedsYou => "needs_you",
            Self::Blocked => "blocked",
            Self::YourTurn => "your_turn",
            Self::Working => "working",
            Self::Done => "done",
            Self::Gone => "gone",
        }
    }

    /// Whether the session waits for the person.
    pub fn waits_for_person(self) -> bool {
        matches!(self, Self::NeedsYou | Self::Blocked | Self::YourTurn)
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The phase of a session as the API shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// The phase.
    pub name: PhaseName,
    /// When it began.
    pub since: Timestamp,
    /// One line: the question, the agent's last words, the reason of a block, or the prompt that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The id of the oldest open question of a session that needs the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Seq>,
    /// The id of the need that the person can close: `POST /needs/{id}/done`. A question ends by its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<String>,
    /// When a blocked session may go on, if its agent reported that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The tool call that runs now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolCall>,
}

/// A tool call of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool, as the agent names it.
    pub name: String,
    /// Its most informative argument on one line, for example the command or the path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// When it began.
    pub since: Timestamp,
}
