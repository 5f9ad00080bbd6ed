//! Questions: notifications that somebody must answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{InboxName, Kind, ProjectName, Seq, Timestamp};

/// Where a question stands. The last four are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionState {
    /// Nobody took it.
    Open,
    /// Somebody is on it.
    Claimed,
    /// It has its answer.
    Answered,
    /// It was taken back, or was settled where it was asked.
    Withdrawn,
    /// A newer one took its place.
    Superseded,
    /// Its time was over.
    Expired,
}

impl QuestionState {
    /// Whether nothing changes it any more.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Open | Self::Claimed)
    }
}

/// A question as it is shown. `id`, `msg`, `options` and `data` are its notification's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its notification's number.
    pub id: Seq,
    /// The project.
    pub project: ProjectName,
    /// Who asks.
    pub from: InboxName,
    /// `question` or `approval`.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// When it was asked.
    pub ts: Timestamp,
    /// Until when an answer is taken.
    pub expires_at: Timestamp,
    /// Where it stands.
    pub state: QuestionState,
    /// Who claimed, answered or withdrew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The notification that answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_id: Option<Seq>,
    /// The answer's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The question's text.
    pub msg: String,
    /// The answers it offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// What the asker added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Whether an answer given to the hub reaches the asker, as things are. An answer that does not is kept all the same.
    pub deliverable: bool,
    /// Where the asker is, as far as it is known; only where an answer does not reach it.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// Where an agent's session runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its tmux pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
}

/// An answer, `POST /questions/{id}/answer`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerPost {
    /// The text, or one of the options. For an approval `allow` or `deny`, with a reason behind a colon.
    pub answer: String,
    /// The agent session that answers; absent for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// Who answers, where it is no session; `person` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<InboxName>,
    /// Anything a program wants to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Who claims or withdraws, `POST /questions/{id}/claim` and `/withdraw`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByPost {
    /// The agent session that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<InboxName>,
    /// Who does it, where it is no session; `person` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<InboxName>,
}
