//! Questions of the naive model.

use hub_core::command::Refusal;
use hub_core::notification::{Draft, HOOK_KEYS};
use hub_core::record::SettleReason;
use hub_protocol::{InboxName, Kind, ProjectName, QuestionState, Seq, Timestamp};

use super::{Key, Model};

#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) project: ProjectName,
    from: InboxName,
    kind: Kind,
    key: Option<String>,
    pub(crate) ts: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) state: QuestionState,
}

impl Question {
    fn demand_person(&self, by: &InboxName, may_anyway: bool) -> Result<(), Refusal> {
        if self.kind == Kind::Approval && by.as_str() != InboxName::PERSON && !may_anyway {
            return Err(Refusal::NotAllowed("this is settled by a person"));
        }
        Ok(())
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.state.is_final()
    }

    fn is_of_hook(&self) -> bool {
        let key = self.key.as_deref();
        key.is_some_and(|it| it.starts_with(HOOK_KEYS))
    }

    pub(super) fn is_from(&self, (project, from): &Key) -> bool {
        (&self.project, &self.from) == (project, from)
    }
}

impl Model {
    /// Settles the question that a draft answers; returns the inbox of its asker.
    pub(super) fn answer(&mut self, draft: &Draft) -> Result<InboxName, Refusal> {
        let id = draft.body.reply_to.ok_or(Refusal::NoSuchQuestion)?;
        let question = self.open_question(id)?;
        if question.from == draft.body.from {
            return Err(Refusal::NotAllowed(
                "a sender cannot answer its own question",
            ));
        }
        let asker = question.from.clone();
        if question.kind == Kind::Approval && !draft.may_approve {
            return Err(Refusal::NotAllowed(
                "this is answered by a person: on the dashboard, or with hubctl answer over the hub's socket in a terminal that no agent started",
            ));
        }
        self.settle_question(id, QuestionState::Answered, SettleReason::Answered);
        if draft.body.from.as_str() == InboxName::PERSON {
            self.seen.insert(id);
        }
        Ok(asker)
    }

    /// Closes the open questions of a session that reports work or its completion.
    pub(super) fn close_questions(&mut self, head: Seq, draft: &Draft) {
        let body = &draft.body;
        let continues = matches!(body.kind, Kind::Progress | Kind::Complete);
        if !continues || !draft.explicit_kind {
            return;
        }
        let session = body.session.as_ref().unwrap_or(&body.from);
        let place = (body.project.clone(), session.clone());
        if session.as_str() == InboxName::UNKNOWN && !self.sessions.contains_key(&place) {
            return;
        }
        // The clock may have jumped back unannounced: then the report is older than the question.
        let asked_before =
            |it: &Question| it.is_from(&place) && it.ts <= body.ts && !it.is_of_hook();
        for id in self.questions_that(|it| it.is_open() && asked_before(it)) {
            if id <= head {
                self.settle_question(id, QuestionState::Withdrawn, SettleReason::Withdrawn);
            }
        }
    }

    /// Records a question, which supersedes an open one of its sender with the same key.
    pub(super) fn asks(&mut self, id: Seq, draft: &Draft) {
        let body = &draft.body;
        if !matches!(body.kind, Kind::Question | Kind::Approval) {
            return;
        }
        let question = Question {
            project: body.project.clone(),
            from: body.from.clone(),
            kind: body.kind,
            key: body.key.clone(),
            ts: body.ts,
            expires_at: body.expires_at,
            state: QuestionState::Open,
        };
        let same = |it: &Question| {
            it.is_open()
                && it.key.is_some()
                && (&it.project, &it.from, &it.key)
                    == (&question.project, &question.from, &question.key)
        };
        for old in self.questions_that(same) {
            self.settle_question(old, QuestionState::Superseded, SettleReason::Superseded);
        }
        self.questions.insert(id, question);
    }

    pub(crate) fn claim(&mut self, id: Seq, by: &InboxName) -> Result<(), Refusal> {
        let question = self.open_question(id)?;
        question.demand_person(by, false)?;
        if question.from == *by {
            return Err(Refusal::NotAllowed(
                "a sender cannot claim its own question",
            ));
        }
        question.state = QuestionState::Claimed;
        Ok(())
    }

    pub(crate) fn withdraw_question(&mut self, id: Seq, by: &InboxName) -> Result<(), Refusal> {
        let question = self.open_question(id)?;
        question.demand_person(by, question.from == *by)?;
        self.settle_question(id, QuestionState::Withdrawn, SettleReason::Withdrawn);
        Ok(())
    }

    pub(super) fn expire_questions(&mut self, now: Timestamp) {
        for id in self.questions_that(|it| it.is_open() && it.expires_at <= now) {
            self.settle_question(id, QuestionState::Expired, SettleReason::Expired);
        }
    }

    /// Withdraws the open ones of these questions.
    pub(super) fn withdraw_questions(&mut self, ids: &[Seq]) {
        for id in ids {
            if let Ok(question) = self.open_question(*id) {
                question.state = QuestionState::Withdrawn;
            }
        }
    }

    pub(super) fn reset_questions(&mut self, project: &ProjectName, history: bool) {
        for it in self
            .questions
            .values_mut()
            .filter(|it| it.project == *project)
        {
            if it.is_open() {
                it.state = QuestionState::Withdrawn;
            }
        }
        self.questions
            .retain(|_, it| !history || it.project != *project);
    }

    fn open_question(&mut self, id: Seq) -> Result<&mut Question, Refusal> {
        let question = self.questions.get_mut(&id).ok_or(Refusal::NoSuchQuestion)?;
        if question.is_open() {
            return Ok(question);
        }
        let state = question.state;
        Err(Refusal::QuestionSettled { id, state })
    }

    fn settle_question(&mut self, id: Seq, state: QuestionState, how: SettleReason) {
        self.questions.entry(id).and_modify(|it| it.state = state);
        for note in self.mut_notes(|note| note.id == id) {
            note.settle(None, how);
        }
    }

    pub(super) fn questions_that(&self, which: impl Fn(&Question) -> bool) -> Vec<Seq> {
        let found = self.questions.iter().filter(|(_, it)| which(it));
        found.map(|(id, _)| *id).collect()
    }
}
