//! What the person has to do: decided by the hub, drawn by every view.

use serde::{Deserialize, Serialize};

use crate::{
    Alert, AnswerDelivery, AnswerPost, Control, InboxName, Place, Priority, ProjectName,
    QuestionState, Seq, Timestamp, ToolRequest,
};

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
    /// Whether an answer ends it.
    pub fn asks(self) -> bool {
        matches!(
            self,
            Self::Permission | Self::Question | Self::Plan | Self::Form
        )
    }

    /// Its name for people: `your turn`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Form => "form",
            Self::Died => "died",
            Self::Error => "error",
            Self::Turn => "your turn",
            Self::Limit => "limit",
            Self::Silent => "silent",
        }
    }
}

/// Something that the person has to do. It ends when it is done, not when it is read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each is a field of the API
pub struct Need {
    /// What names it for as long as it exists.
    pub id: String,
    /// What it is about.
    pub kind: NeedKind,
    /// When it began.
    pub since: Timestamp,
    /// When a limit ends, or the agent's dialog stops waiting for the hub's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// That the hub can let the session go on when its limit ends; absent if it does not know the end, or cannot wake it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
    /// How a question ended; absent while it is open. It stays until the agent has the answer, and a few seconds more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
    /// The one who has claimed a question to answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
    /// Whether an answer that is given to the hub reaches the session.
    #[serde(default)]
    pub answerable: bool,
    /// Whether the agent shows no dialog of its own before `until`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delays: bool,
    /// Whether the hub has just started and waits for the hook of the agent: until then it takes no answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reconnecting: bool,
    /// The place in which the session waits for an answer that does not reach it from the hub, as far as the hub knows.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The project of the session or sender.
    pub project: ProjectName,
    /// The name of the session or sender, for people.
    pub name: String,
    /// The session's permanent id, if the hub knows the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// The inbox that a question or message names: `person` if it is to the person alone; absent if its type decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<InboxName>,
    /// The notification that says more: the question, or the session's last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<Seq>,
    /// The priority of that notification.
    #[serde(default)]
    pub priority: Priority,
    /// The state of the preferences by which it calls the person; absent if it does so whatever they have chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<Alert>,
    /// Why it must not call the person now: a mute, quiet hours or a rule; absent if it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silenced: Option<String>,
    /// Whether it is one of the number of needs that every view shows: others end by themselves.
    #[serde(default)]
    pub counts: bool,
    /// Whether the person ends it by *Done*, or puts it off. Others end by their answer.
    #[serde(default)]
    pub closable: bool,
    /// Whether it says, before its words, that the session has not taken a message of the person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untaken: bool,
    /// What it wants, after the name: `wants to run a command`.
    pub title: String,
    /// What it is about in one line, for a row: of a permission the tool with its most informative field.
    #[serde(default)]
    pub line: String,
    /// The beginning of its text, at most 240 characters, without the mark of a heading.
    pub brief: String,
    /// Whether `brief` is the whole of what an answer allows or settles.
    pub complete: bool,
    /// The record that its words are from. An answer that names another one is refused.
    #[serde(default)]
    pub revision: Seq,
    /// The answers that may be given from `brief` alone, as buttons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quick: Vec<Quick>,
    /// The rest of it. Only in `GET /needs/{id}`.
    #[serde(flatten)]
    pub whole: Option<Whole>,
}

/// How a session goes on after its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// When, within a minute after the end of the limit.
    pub at: Timestamp,
    /// Whether the hub lets it go on: the person chose it, or the configuration.
    pub chosen: bool,
}

impl Need {
    /// Whether it still waits for the person.
    pub fn is_open(&self) -> bool {
        self.settled.is_none()
    }
}

/// All that a need says, and what answers it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    /// The whole text, as the agent wrote it; of what an answer allows or settles with hidden characters shown.
    pub text: String,
    /// The session's last words before it asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The request that a permission is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<ToolRequest>,
    /// The controls that answer it: one, or a `choice` for each question of its dialog; none if it takes no answer.
    pub controls: Vec<Control>,
}

/// How a question ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// The state in which it ended.
    pub state: QuestionState,
    /// The person or session that settled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The beginning of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// How far the answer has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<AnswerDelivery>,
}

/// An answer as a button.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Quick {
    /// The text of the button.
    pub label: String,
    /// The body for `POST /needs/{id}/answer`.
    pub answer: AnswerPost,
}

/// The answer to `GET /needs`, and the data of the event `need`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Needs {
    /// What the person has to do, the most urgent kind first, and within a kind the oldest.
    pub needs: Vec<Need>,
}

/// The body of `POST /needs/{id}/snooze`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snooze {
    /// When the need opens again, if it still exists.
    pub until: Timestamp,
}
