//! The phase of a session: whether it needs the person, and otherwise what it does.

use serde::{Deserialize, Serialize};

use crate::{Seq, Timestamp};

crate::named! {
    /// The phase of a session, the most urgent first.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
    )]
    pub enum PhaseName {
        /// It asks: a question, a permission, a plan or a form is open.
        NeedsYou = "needs_you",
        /// It cannot go on: an error, a rate limit, a dead process, or a long silence at work.
        Blocked = "blocked",
        /// It stopped and waits for a prompt, until the person says that it is done.
        YourTurn = "your_turn",
        /// It works.
        Working = "working",
        /// It stopped, and nothing waits for the person: they said so, or another session was notified.
        #[default]
        Done = "done",
        /// It has ended.
        Gone = "gone",
    }
}

impl PhaseName {
    /// Whether the session waits for the person.
    pub fn waits_for_person(self) -> bool {
        matches!(self, Self::NeedsYou | Self::Blocked | Self::YourTurn)
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
