//! Questions: notifications that somebody must answer, once.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{InboxName, Kind, ProjectName, QuestionState, Seq, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::State;
use super::hook::{DIALOG, PERMISSION};
use super::settle::settled;
use crate::command::{Draft, Refusal};
use crate::record::{How, Notified, QuestionClaimed, QuestionSettled, Record};

/// A question, but for its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The project.
    pub project: ProjectName,
    /// Who asks.
    pub from: InboxName,
    /// `question` or `approval`.
    pub kind: Kind,
    /// When it was asked.
    pub ts: Timestamp,
    /// Until when an answer is taken.
    pub expires_at: Timestamp,
    /// What it replaces, and what replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where it stands.
    pub state: QuestionState,
    /// Who did that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Seq>,
}

/// How an answer reaches whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Through its inbox.
    Inbox,
    /// Only through a request of its hook, while that is held.
    Request,
    /// Not at all: it is asked in the agent's own terminal, or the asker is over.
    Nowhere,
}

/// Every question that the log still holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Questions {
    all: BTreeMap<Seq, Question>,
    open: BTreeSet<(Timestamp, Seq)>,
}

impl Questions {
    pub(super) fn get(&self, id: Seq) -> Option<&Question> {
        self.all.get(&id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Seq, &Question)> {
        self.all.iter().map(|(id, question)| (*id, question))
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (Seq, &Question)> {
        self.open
            .iter()
            .filter_map(|(_, id)| Some((*id, self.get(*id)?)))
    }

    /// The open questions of one session.
    pub(super) fn of<'a>(
        &'a self,
        project: &'a ProjectName,
        from: &'a InboxName,
    ) -> impl Iterator<Item = (Seq, &'a Question)> {
        self.open()
            .filter(move |(_, it)| it.project == *project && it.from == *from)
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.open.first().map(|(at, _)| *at)
    }

    fn insert(&mut self, id: Seq, question: Question) {
        if !question.state.is_final() {
            self.open.insert((question.expires_at, id));
        }
        self.all.insert(id, question);
    }

    fn change(&mut self, id: Seq, change: impl FnOnce(&mut Question)) {
        if let Some(mut question) = self.all.remove(&id) {
            self.open.remove(&(question.expires_at, id));
            change(&mut question);
            self.insert(id, question);
        }
    }

    /// The questions whose numbers are below `seq`, ascending.
    pub(super) fn below(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        self.all.range(..seq).map(|(id, _)| *id)
    }

    /// [`Questions::below`] of those that are open.
    pub(super) fn open_below(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        let below = self.all.range(..seq);
        let open = below.filter(|(_, it)| !it.state.is_final());
        open.map(|(id, _)| *id)
    }

    /// Forgets what is settled and whose text is no longer in the log.
    pub(super) fn trim(&mut self, below: Seq, location: impl Fn(Seq) -> Seq) {
        self.all
            .retain(|id, it| !it.state.is_final() || location(*id) >= below);
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        self.all.retain(|_, it| it.project != *project);
        self.open.retain(|(_, id)| self.all.contains_key(id));
    }

    /// Leaves none of a project open.
    pub(super) fn withdraw_all(&mut self, project: &ProjectName) {
        let open = self.open().filter(|(_, it)| it.project == *project);
        for id in open.map(|(id, _)| id).collect::<Vec<_>>() {
            self.change(id, |it| it.state = QuestionState::Withdrawn);
        }
    }

    pub(super) fn shift(&mut self, delta_ms: i64) {
        self.open.clear();
        for (id, it) in &mut self.all {
            if !it.state.is_final() {
                it.expires_at = it.expires_at.plus_millis(delta_ms);
                self.open.insert((it.expires_at, *id));
            }
        }
    }
}

impl State {
    /// A question that the log still holds.
    pub fn question(&self, id: Seq) -> Option<&Question> {
        self.questions.get(id)
    }

    /// Questions, oldest first; only those that are open, or all that are known.
    pub fn questions(&self, all: bool) -> Vec<(Seq, &Question)> {
        if all {
            return self.questions.all().collect();
        }
        let mut open: Vec<_> = self.questions.open().collect();
        open.sort_by_key(|(id, _)| *id);
        open
    }

    /// How an answer reaches whoever asked this.
    pub fn reach(&self, question: &Question) -> Reach {
        let asker = self.called(&question.project, &question.from);
        let asker = self.session(&question.project, asker);
        if asker.is_some_and(|it| !it.is_alive()) {
            return Reach::Nowhere;
        }
        match question.key.as_deref() {
            Some(DIALOG) => Reach::Nowhere,
            Some(PERMISSION) => Reach::Request,
            _ => Reach::Inbox,
        }
    }

    /// An open question, or why nothing can be done with it.
    pub(super) fn open_question(&self, id: Seq) -> Result<&Question, Refusal> {
        let question = self.questions.get(id).ok_or(Refusal::NoSuchQuestion)?;
        if question.state.is_final() {
            let state = question.state;
            return Err(Refusal::QuestionSettled { id, state });
        }
        Ok(question)
    }

    /// The question that a draft answers, if it may.
    pub(super) fn answered_by(
        &self,
        draft: &Draft,
        from: &InboxName,
    ) -> Result<&Question, Refusal> {
        let id = draft.reply_to.ok_or(Refusal::NoSuchQuestion)?;
        let question = self.open_question(id)?;
        // An answer reaches an inbox of its own project.
        if question.project != draft.project {
            return Err(Refusal::NoSuchQuestion);
        }
        if question.from == *from {
            return Err(Refusal::NotYours("nobody answers their own question"));
        }
        let by_session = self.session(&question.project, from).is_some();
        if question.kind == Kind::Approval && by_session && !draft.may_approve {
            return Err(Refusal::NotYours(
                "an approval is given by a person: on the dashboard, or in a terminal outside any agent",
            ));
        }
        Ok(question)
    }

    pub(super) fn decide_claim(
        &self,
        id: Seq,
        by: &InboxName,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let question = self.open_question(id)?;
        let by = self.called(&question.project, by);
        if question.from == *by {
            return Err(Refusal::NotYours("nobody claims their own question"));
        }
        let by = by.to_string();
        if question.by.as_ref() == Some(&by) {
            return Ok(Vec::new());
        }
        Ok(vec![Record::QuestionClaimed(QuestionClaimed {
            id,
            by,
            at: now,
        })])
    }

    pub(super) fn decide_withdraw_question(
        &self,
        id: Seq,
        by: &InboxName,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        self.open_question(id)?;
        Ok(self.settle_question(id, QuestionState::Withdrawn, Some(by.as_str()), None, now))
    }

    /// Settles a question for good, and takes it out of every inbox.
    pub(super) fn settle_question(
        &self,
        id: Seq,
        state: QuestionState,
        by: Option<&str>,
        answer: Option<Seq>,
        at: Timestamp,
    ) -> Vec<Record> {
        let mut records = vec![settled_question(id, state, by, answer, at)];
        if self.inboxes.is_pending(id) {
            let how = match state {
                QuestionState::Answered => How::Answered,
                QuestionState::Superseded => How::Superseded,
                QuestionState::Expired => How::Expired,
                _ => How::Withdrawn,
            };
            records.extend(settled(vec![id], None, how, by, at));
        }
        records
    }

    /// Questions that somebody took back by taking their notifications back.
    pub(super) fn withdrawn_questions(&self, ids: &[Seq], at: Timestamp) -> Vec<Record> {
        let open = |id: &&Seq| self.open_question(**id).is_ok();
        let withdrawn = QuestionState::Withdrawn;
        let settle = |id: &Seq| settled_question(*id, withdrawn, None, None, at);
        let ids: BTreeSet<Seq> = ids.iter().copied().collect();
        ids.iter().filter(open).map(settle).collect()
    }

    /// The open questions of a project that is emptied; their notifications are dropped.
    pub(super) fn withdrawn_with(&self, project: &ProjectName, at: Timestamp) -> Vec<Record> {
        let open = self
            .questions
            .open()
            .filter(|(_, it)| it.project == *project);
        let withdrawn = QuestionState::Withdrawn;
        open.map(|(id, _)| settled_question(id, withdrawn, None, None, at))
            .collect()
    }

    /// Questions whose time is over.
    pub(super) fn expired_questions(&self, now: Timestamp) -> Vec<Record> {
        // Their notifications expire by themselves, at the same time.
        let due = self.questions.open.iter().take_while(|(at, _)| *at <= now);
        let settle = |id| settled_question(id, QuestionState::Expired, None, None, now);
        due.map(|(_, id)| settle(*id)).collect()
    }

    pub(super) fn apply_asked(&mut self, id: Seq, it: &Notified) {
        let route = &it.route;
        if !matches!(route.kind, Kind::Question | Kind::Approval) {
            return;
        }
        self.questions.insert(
            id,
            Question {
                project: route.project.clone(),
                from: route.from.clone(),
                kind: route.kind,
                ts: route.ts,
                expires_at: route.expires_at,
                key: route.key.clone(),
                state: QuestionState::Open,
                by: None,
                answer: None,
            },
        );
    }

    pub(super) fn apply_claimed(&mut self, it: &QuestionClaimed) {
        self.questions.change(it.id, |question| {
            question.state = QuestionState::Claimed;
            question.by = Some(it.by.clone());
        });
    }

    pub(super) fn apply_question_settled(&mut self, it: &QuestionSettled) {
        self.questions.change(it.id, |question| {
            question.state = it.state;
            question.by.clone_from(&it.by);
            question.answer = it.answer;
        });
    }
}

/// The record that settles a question.
pub(super) fn settled_question(
    id: Seq,
    state: QuestionState,
    by: Option<&str>,
    answer: Option<Seq>,
    at: Timestamp,
) -> Record {
    Record::QuestionSettled(QuestionSettled {
        id,
        state,
        by: by.map(str::to_owned),
        answer,
        at,
    })
}

impl Serialize for Questions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Questions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut questions = Self::default();
        for (id, question) in BTreeMap::deserialize(deserializer)? {
            questions.insert(id, question);
        }
        Ok(questions)
    }
}
