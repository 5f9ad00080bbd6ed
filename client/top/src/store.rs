//! The data of the hub: needs, open questions and sessions.

use hub_protocol::{About, Need, Question, Seq, Session, Sessions, Timestamp};
use serde::Deserialize;

#[cfg(test)]
pub(crate) mod fixture;

/// The answer to `GET /dashboard`, with the open questions.
#[derive(Debug, Deserialize)]
pub(crate) struct FirstView {
    pub(crate) hub: About,
    sessions: Sessions,
    #[serde(default)]
    pub(crate) questions: Vec<Question>,
    needs: Vec<Need>,
}

/// The hub's state, as far as it is shown.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) sessions: Vec<Session>,
    pub(crate) questions: Vec<Question>,
    pub(crate) needs: Vec<Need>,
    /// The hub's clock minus this machine's, in ms.
    ahead: i64,
}

impl Store {
    /// Replaces everything by a first view that arrived at `now` of this machine's clock.
    pub(crate) fn load(&mut self, view: FirstView, now: Timestamp) {
        self.sessions = view.sessions.sessions;
        self.questions = view.questions;
        self.needs = view.needs;
        self.ahead = view.hub.now.as_millis() - now.as_millis();
    }

    /// Replaces a question by a newer state of it.
    pub(crate) fn set_question(&mut self, question: Question) {
        self.questions.retain(|it| it.id != question.id);
        if !question.state.is_final() {
            self.questions.push(question);
        }
    }

    /// The open question `id`.
    pub(crate) fn question(&self, id: Seq) -> Option<&Question> {
        let open = self.questions.iter().filter(|it| !it.state.is_final());
        { open }.find(|it| it.id == id)
    }

    /// The time of the hub's clock at `now` of this machine's clock.
    pub(crate) fn hub_time(&self, now: Timestamp) -> Timestamp {
        now.plus_millis(self.ahead)
    }
}
