//! Questions: notifications that need an answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Control, InboxName, Kind, ProjectName, Seq, Timestamp, ToolRequest};

crate::named! {
    /// The state of a question. The last four are final.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum QuestionState {
        /// The question has no answer and is not claimed.
        #[default]
        Open = "open",
        /// A person or a session has claimed the question.
        Claimed = "claimed",
        /// The question has its answer.
        Answered = "answered",
        /// The asker withdrew the question, or it was settled where it was asked.
        Withdrawn = "withdrawn",
        /// A newer question took its place.
        Superseded = "superseded",
        /// The question expired.
        Expired = "expired",
    }
}

impl QuestionState {
    /// How a question ended without an answer that counts, in the word of every view; `None` if it is open or has its answer.
    /// `by` settled it.
    pub fn ended(self, by: Option<&str>) -> Option<&'static str> {
        match self {
            Self::Open | Self::Claimed | Self::Answered => None,
            Self::Withdrawn if self.is_by_terminal(by) => Some("settled in its terminal"),
            Self::Withdrawn | Self::Superseded | Self::Expired => Some(self.as_str()),
        }
    }

    /// Whether the agent went on by itself: somebody was at its terminal.
    pub fn is_by_terminal(self, by: Option<&str>) -> bool {
        self == Self::Withdrawn && by == Some("resumed")
    }

    /// Whether the state is final: it never changes again.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Open | Self::Claimed)
    }
}

/// How far the answer to a question has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerDelivery {
    /// The question waits for an answer, which the hub can deliver.
    Waiting,
    /// The hub has just started, and the asker's hook has not connected to it again: until then it delivers no answer.
    Reconnecting,
    /// The answer is stored, and the asker does not have it yet.
    Stored,
    /// The answer was given to the asker's agent.
    Delivered,
    /// The asker acknowledged the answer, or went on with it.
    Taken,
    /// Only the asker's own terminal can answer the question.
    Terminal,
}

/// A question as the API shows it. `id`, `msg`, `options` and `data` are those of its notification.
#[derive(Default, Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The id of its notification.
    pub id: Seq,
    /// The project that it belongs to.
    pub project: ProjectName,
    /// The session that asks.
    pub from: InboxName,
    /// The name of the asker's session, if it differs from `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_name: Option<String>,
    /// `question` or `approval`.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The inbox that the asker named; absent if the type decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<InboxName>,
    /// When the asker posted it.
    pub ts: Timestamp,
    /// When it expires; until then the hub accepts an answer.
    pub expires_at: Timestamp,
    /// The question's state.
    pub state: QuestionState,
    /// The person or session that claimed, answered or withdrew it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The id of the notification that answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_id: Option<Seq>,
    /// The answer's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The answers to the questions of its dialog, in their order, if it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<String>>,
    /// The question's text.
    pub msg: String,
    /// The text of what the answer allows or settles, with hidden characters shown by their code points.
    #[serde(default)]
    pub text: String,
    /// Whether `text` is the whole of it and a plain view shows it as it is. A view offers to allow only a complete text
    /// that it has drawn to its end.
    #[serde(default)]
    pub complete: bool,
    /// The answers that it offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// The controls that answer it: one, or a `choice` for each question of its dialog.
    #[serde(default)]
    pub controls: Vec<Control>,
    /// The request that an approval is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<ToolRequest>,
    /// Any JSON value that the asker added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Whether an answer given to the hub reaches the asker. If a dialog of the asker's own terminal waits for the
    /// answer, the hub refuses one.
    pub deliverable: bool,
    /// How far the answer has come; absent if the question was closed without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<AnswerDelivery>,
    /// Until when the hub holds the asker's request for an answer; absent if it holds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// Whether the asker's agent shows no dialog of its own before that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delays: bool,
    /// The place where the asker runs, as far as the hub knows it; absent if an answer by the hub reaches the asker.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// The answer to `GET /questions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Questions<T = Question> {
    /// The questions, oldest first.
    pub questions: Vec<T>,
    /// The `before` of the page with the next older ones; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
}

/// The place where an agent's session runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The machine's host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The working directory of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The tmux pane of the session, such as `%7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
}

/// The decision on a permission or a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Allowed this time.
    Allow,
    /// Allowed, and in this session requests of this kind too.
    AllowAlways,
    /// The plan is approved, and the session may edit files without asking.
    AcceptEdits,
    /// Denied, with a reason if one was given.
    Deny(Option<String>),
}

/// The decision that an answer makes. Reads `allow`, `allow always`, `approve: accept edits`, `deny`, `deny: why` and
/// synonyms; `None` for any other answer.
pub fn verdict(answer: &str) -> Option<Verdict> {
    let (word, more) = answer.split_once(':').unwrap_or((answer, ""));
    let more = more.trim();
    Some(match word.trim().to_ascii_lowercase().as_str() {
        "approve" if more.eq_ignore_ascii_case("accept edits") => Verdict::AcceptEdits,
        "allow" | "yes" | "approve" => Verdict::Allow,
        "allow always" | "always" => Verdict::AllowAlways,
        "deny" | "no" | "reject" => Verdict::Deny((!more.is_empty()).then(|| more.to_owned())),
        _ => return None,
    })
}

/// The one who claims or withdraws, the body of `POST /questions/{id}/claim` and `/withdraw`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ByPost {
    /// The agent session that claims or withdraws; absent for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// The name of the one who claims or withdraws, if it is not a session; `person` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<InboxName>,
}
