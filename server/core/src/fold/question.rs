//! A question: a notification that needs exactly one answer.

use hub_protocol::{InboxName, Kind, ProjectName, QuestionState, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::dialog::{is_dialog, is_dialog_key, is_held_key};
use crate::command::Refusal;
use crate::record::Route;

/// A question without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question's project.
    pub project: ProjectName,
    /// The asker.
    pub from: InboxName,
    /// `question` or `approval`.
    pub kind: Kind,
    /// When it was asked.
    pub ts: Timestamp,
    /// When the question expires; later answers are refused.
    pub expires_at: Timestamp,
    /// The collapse key: a newer question of the same asker with this key replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The question's state.
    pub state: QuestionState,
    /// The session or person that brought it into this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The notification that answers or supersedes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Seq>,
    /// How far the answer has come, if a held hook delivers it.
    #[serde(default, skip_serializing_if = "Progress::is_stored")]
    pub progress: Progress,
    /// When it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
}

/// How far an answer has come that a held hook delivers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// It is stored.
    #[default]
    Stored,
    /// The hook's answer carried it.
    Delivered,
    /// The hook's answer carried it, and the turn ended without an event that tells whether the agent used it.
    Untold,
    /// A later event of the session proves that the agent went on.
    Taken,
}

impl Progress {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    fn is_stored(&self) -> bool {
        *self == Self::Stored
    }
}

impl Question {
    /// The question that a notification asks.
    pub(super) fn asked(route: &Route) -> Self {
        Self {
            project: route.project.clone(),
            from: route.from.clone(),
            kind: route.kind,
            ts: route.ts,
            expires_at: route.expires_at,
            key: route.key.clone(),
            state: QuestionState::Open,
            by: None,
            answer: None,
            progress: Progress::Stored,
            settled_at: None,
        }
    }

    /// Whether only a person answers it: an approval, a dialog of an agent, or a question of the hub itself.
    pub fn is_for_person(&self) -> bool {
        self.kind == Kind::Approval || is_dialog(self) || self.is_of_hub()
    }

    /// Whether the hub asks it.
    pub fn is_of_hub(&self) -> bool {
        self.from.as_str() == InboxName::HUB
    }

    /// Whether nobody but a person takes it back: a question of the hub, or what an agent's hook holds or shows in a dialog.
    pub fn is_kept_for_person(&self) -> bool {
        let is_it = |key: &str| is_held_key(key) || is_dialog_key(key);
        self.is_of_hub() || self.key.as_deref().is_some_and(is_it)
    }

    /// Whether it was settled in the last `ms` milliseconds. A time after `now` is of a clock that was set back since.
    pub(super) fn was_settled_within(&self, ms: i64, now: Timestamp) -> bool {
        let since = now.plus_millis(-ms);
        self.settled_at.is_some_and(|at| since < at && at <= now)
    }

    /// Refuses those who take what only a person decides from the person's sight.
    pub(super) fn demand_person(&self, by: &InboxName, may_anyway: bool) -> Result<(), Refusal> {
        if self.is_for_person() && by.as_str() != InboxName::PERSON && !may_anyway {
            return Err(Refusal::NotAllowed("this is settled by a person"));
        }
        Ok(())
    }

    /// Returns the answer, if a held hook delivers it.
    pub(super) fn answer_by_hook(&self) -> Option<Seq> {
        let by_hook = self.key.as_deref().is_some_and(is_held_key);
        self.answer
            .filter(|_| by_hook && self.state == QuestionState::Answered)
    }
}
