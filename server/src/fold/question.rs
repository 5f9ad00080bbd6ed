//! Questions: notifications that need exactly one answer.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{
    InboxName, Kind, Place, ProjectName, QuestionState, Seq, SessionInfo, Timestamp, verdict,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::hook::{PERMISSION, is_dialog_key};
use super::session::Session;
use super::settle::settled;
use super::{State, texts};
use crate::core::command::{Draft, Refusal};
use crate::core::record::{How, Notified, QuestionClaimed, QuestionSettled, Record};

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
}

/// How an answer reaches the asker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Through the asker's inbox.
    Inbox,
    /// Only through a held request of the asker's hook.
    Request,
    /// Not at all: the question is shown in the agent's own terminal, or the asker has ended.
    Nowhere,
}

/// Every question whose text the log still holds.
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

    /// Returns the open questions of one session.
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

    /// Returns the questions whose numbers are below `seq`, ascending.
    pub(super) fn below(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        self.all.range(..seq).map(|(id, _)| *id)
    }

    /// Returns the open questions whose numbers are below `seq`, ascending.
    pub(super) fn open_below(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        let below = self.all.range(..seq);
        let open = below.filter(|(_, it)| !it.state.is_final());
        open.map(|(id, _)| *id)
    }

    /// Forgets settled questions whose text is no longer in the log.
    pub(super) fn trim(&mut self, below: Seq, location: impl Fn(Seq) -> Seq) {
        self.all
            .retain(|id, it| !it.state.is_final() || location(*id) >= below);
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        self.all.retain(|_, it| it.project != *project);
        self.open.retain(|(_, id)| self.all.contains_key(id));
    }

    /// Withdraws every open question of a project.
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
                it.ts = it.ts.plus_millis(delta_ms);
                it.expires_at = it.expires_at.plus_millis(delta_ms);
                self.open.insert((it.expires_at, *id));
            }
        }
    }
}

impl State {
    /// Returns a question whose text the log still holds.
    pub fn question(&self, id: Seq) -> Option<&Question> {
        self.questions.get(id)
    }

    /// Returns the open questions, or all known ones, oldest first.
    pub fn questions(&self, all: bool) -> Vec<(Seq, &Question)> {
        if all {
            return self.questions.all().collect();
        }
        let mut open: Vec<_> = self.questions.open().collect();
        open.sort_by_key(|(id, _)| *id);
        open
    }

    /// Returns how an answer reaches the asker.
    pub fn reach(&self, question: &Question) -> Reach {
        let asker = self.called(&question.project, &question.from);
        let asker = self.session(&question.project, asker);
        if asker.is_some_and(|it| !it.is_alive()) {
            return Reach::Nowhere;
        }
        match question.key.as_deref() {
            Some(key) if is_dialog_key(key) => Reach::Nowhere,
            Some(PERMISSION) => Reach::Request,
            _ => Reach::Inbox,
        }
    }

    /// Returns why an answer cannot settle the dialog that the agent shows; `None` if it can, or if there is no dialog.
    /// `is_held` is whether a hook request is held for the answer to a question.
    pub fn undeliverable(&self, answer: &Draft, is_held: impl Fn(Seq) -> bool) -> Option<Refusal> {
        let id = answer.reply_to?;
        let question = self.questions.get(id)?;
        let key = question.key.as_deref()?;
        if key == PERMISSION && is_held(id) {
            let decides = texts::msg_of(&answer.tail).is_some_and(|it| verdict(&it).is_some());
            return (!decides).then_some(Refusal::NoVerdict(id));
        }
        if key != PERMISSION && !is_dialog_key(key) {
            return None;
        }
        let asker = self.called(&question.project, &question.from);
        let session = self.session(&question.project, asker);
        let info = session.and_then(Session::info);
        Some(Refusal::InTerminal {
            id,
            name: texts::name(asker, session).to_owned(),
            place: info.map(place_of).unwrap_or_default(),
        })
    }

    /// Returns when the session asked the question that its dialog shows now.
    pub fn dialog_since(&self, project: &ProjectName, session: &InboxName) -> Option<Timestamp> {
        let open = self.questions.of(project, session);
        let shown = |key: &str| key == PERMISSION || is_dialog_key(key);
        let dialogs = open.filter(|(_, it)| it.key.as_deref().is_some_and(shown));
        dialogs.map(|(_, it)| it.ts).max()
    }

    /// Returns an open question. Fails if it is unknown or settled.
    pub(super) fn open_question(&self, id: Seq) -> Result<&Question, Refusal> {
        let question = self.questions.get(id).ok_or(Refusal::NoSuchQuestion)?;
        if question.state.is_final() {
            let state = question.state;
            return Err(Refusal::QuestionSettled { id, state });
        }
        Ok(question)
    }

    /// Returns the question that a draft answers. Fails if the sender may not answer it.
    pub(super) fn answered_by(
        &self,
        draft: &Draft,
        from: &InboxName,
    ) -> Result<&Question, Refusal> {
        let id = draft.reply_to.ok_or(Refusal::NoSuchQuestion)?;
        let question = self.open_question(id)?;
        // An answer can only reach an inbox of its own project.
        if question.project != draft.project {
            return Err(Refusal::NoSuchQuestion);
        }
        if question.from == *from {
            return Err(Refusal::NotYours("nobody answers their own question"));
        }
        if question.kind == Kind::Approval && !draft.may_approve {
            return Err(Refusal::NotYours(
                "an approval is given by a person: on the dashboard, or with hubctl answer over the hub's socket in a terminal that no agent started",
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

    /// Returns the records that settle a question for good and remove it from every inbox.
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

    /// Returns the records that withdraw the questions among withdrawn notifications.
    pub(super) fn withdrawn_questions(&self, ids: &[Seq], at: Timestamp) -> Vec<Record> {
        let open = |id: &&Seq| self.open_question(**id).is_ok();
        let withdrawn = QuestionState::Withdrawn;
        let settle = |id: &Seq| settled_question(*id, withdrawn, None, None, at);
        let ids: BTreeSet<Seq> = ids.iter().copied().collect();
        ids.iter().filter(open).map(settle).collect()
    }

    /// Returns the records that withdraw the open questions of a reset project; their notifications are dropped.
    pub(super) fn withdrawn_with(&self, project: &ProjectName, at: Timestamp) -> Vec<Record> {
        let open = self
            .questions
            .open()
            .filter(|(_, it)| it.project == *project);
        let withdrawn = QuestionState::Withdrawn;
        open.map(|(id, _)| settled_question(id, withdrawn, None, None, at))
            .collect()
    }

    /// Returns the records that expire questions.
    pub(super) fn expired_questions(&self, now: Timestamp) -> Vec<Record> {
        // The notifications of these questions expire by themselves at the same time.
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

/// Returns a session's place, as far as it is known.
pub fn place_of(info: &SessionInfo) -> Place {
    Place {
        host: info.host.clone(),
        cwd: info.cwd.clone(),
        pane: info.pane.clone(),
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
