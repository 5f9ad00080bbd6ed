//! All questions: asked, claimed, settled.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{InboxName, Kind, ProjectName, QuestionState, Seq, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deadlines::Deadlines;
use super::dialog::{is_dialog, is_dialog_key, is_held_key};
use super::question::{Progress, Question};
use super::status::settled;
use super::transaction::Transaction;
use super::{ByProject, State, each};
use crate::command::Refusal;
use crate::record::{QuestionClaimed, QuestionSettled, Record, Route, SettleReason};

/// The most open questions. Those of hooks are not counted: an agent shows few dialogs at a time.
const MAX_OPEN: usize = 1_000;

/// Every question whose text the log still holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Questions {
    all: BTreeMap<Seq, Question>,
    open: Deadlines<Seq>,
    /// The open questions by their askers.
    open_of: ByProject<BTreeSet<Seq>>,
    /// The answers that held hooks deliver and that are not taken yet, with their questions.
    undelivered: BTreeMap<Seq, Seq>,
}

impl Questions {
    /// Returns a question whose text the log still holds.
    pub fn get(&self, id: Seq) -> Option<&Question> {
        self.all.get(&id)
    }

    /// Returns all known questions, oldest first.
    pub fn all(&self) -> impl Iterator<Item = (Seq, &Question)> {
        self.all.iter().map(|(id, question)| (*id, question))
    }

    /// Returns the open questions, those first that expire first.
    pub fn open(&self) -> impl Iterator<Item = (Seq, &Question)> {
        let open = self.open.iter();
        open.filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Returns the open questions of one session, oldest first.
    pub fn of(
        &self,
        project: &ProjectName,
        from: &InboxName,
    ) -> impl Iterator<Item = (Seq, &Question)> {
        let open = { &self.open_of }.get(project).and_then(|it| it.get(from));
        let open = open.into_iter().flatten();
        open.filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Returns the open questions of a project, by their askers.
    pub fn in_project(&self, project: &ProjectName) -> impl Iterator<Item = (Seq, &Question)> {
        let open = each(&self.open_of, Some(project)).flat_map(|(_, _, ids)| ids);
        open.filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Returns when the session asked the question that its dialog shows now.
    pub fn dialog_since(&self, project: &ProjectName, session: &InboxName) -> Option<Timestamp> {
        let open = self.of(project, session);
        let dialogs = open.filter(|(_, it)| is_dialog(it));
        dialogs.map(|(_, it)| it.ts).max()
    }

    /// Whether the hook of a dialog of this session is held for the answer.
    pub fn holds_dialog(&self, project: &ProjectName, session: &InboxName) -> bool {
        let mut open = self.of(project, session);
        open.any(|(_, it)| it.key.as_deref().is_some_and(is_held_key))
    }

    /// Returns an open question. Fails if it is unknown or settled.
    pub(super) fn demand_open(&self, id: Seq) -> Result<&Question, Refusal> {
        let question = self.get(id).ok_or(Refusal::NoSuchQuestion)?;
        if question.state.is_final() {
            let state = question.state;
            return Err(Refusal::QuestionSettled { id, state });
        }
        Ok(question)
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.open.next()
    }

    /// Refuses one more open question if there are very many.
    pub(super) fn demand_room(&self, kind: Kind, key: Option<&str>) -> Result<(), Refusal> {
        let asks = matches!(kind, Kind::Question | Kind::Approval);
        let by_hook = key.is_some_and(|key| is_held_key(key) || is_dialog_key(key));
        let counted = || self.open().filter(|(_, it)| !is_dialog(it)).count();
        if asks && !by_hook && self.open.len() >= MAX_OPEN && counted() >= MAX_OPEN {
            return Err(Refusal::TooManyQuestions { cap: MAX_OPEN });
        }
        Ok(())
    }

    /// Adds the question that a notification asks, if it asks one.
    pub(super) fn ask(&mut self, id: Seq, route: &Route) {
        if matches!(route.kind, Kind::Question | Kind::Approval) {
            self.insert(id, Question::asked(route));
        }
    }

    fn insert(&mut self, id: Seq, question: Question) {
        if !question.state.is_final() {
            self.open.insert(question.expires_at, id);
            let of_project = self.open_of.entry(question.project.clone()).or_default();
            let of_asker = of_project.entry(question.from.clone()).or_default();
            of_asker.insert(id);
        }
        if let Some(answer) = question.answer_by_hook()
            && question.progress != Progress::Taken
        {
            self.undelivered.insert(answer, id);
        }
        self.all.insert(id, question);
    }

    /// Returns an answered question whose answer a held hook delivers, with the answer, until the agent has taken it.
    pub(super) fn undelivered(&self, id: Seq) -> Option<(&Question, Seq)> {
        let question = self.get(id)?;
        let answer = question.answer_by_hook()?;
        { self.undelivered.contains_key(&answer) }.then_some((question, answer))
    }

    /// Returns every question with an answer that held hooks deliver and that is not taken yet, and the answer.
    pub(super) fn all_undelivered(&self) -> impl Iterator<Item = (Seq, Seq, &Question)> {
        let all = self.undelivered.iter();
        all.filter_map(|(answer, id)| Some((*id, *answer, self.get(*id)?)))
    }

    /// Notes how far these answers have come, if held hooks deliver them.
    pub(super) fn note_answers(&mut self, answers: &[Seq], progress: Progress) {
        for answer in answers {
            if let Some(id) = self.undelivered.get(answer).copied() {
                self.change(id, |it| it.progress = progress);
            }
        }
    }

    /// Returns the records that withdraw the questions among withdrawn notifications.
    pub(super) fn withdrawn(&self, ids: &[Seq], at: Timestamp) -> Vec<Record> {
        let open = |id: &&Seq| self.demand_open(**id).is_ok();
        let withdrawn = QuestionState::Withdrawn;
        let settle = |id: &Seq| settled_question(*id, withdrawn, None, None, at);
        let ids: BTreeSet<Seq> = ids.iter().copied().collect();
        ids.iter().filter(open).map(settle).collect()
    }

    /// Returns the records that withdraw the open questions of a reset project; their notifications are dropped.
    pub(super) fn withdrawn_with(&self, project: &ProjectName, at: Timestamp) -> Vec<Record> {
        let withdrawn = QuestionState::Withdrawn;
        { self.in_project(project) }
            .map(|(id, _)| settled_question(id, withdrawn, None, None, at))
            .collect()
    }

    /// Returns the records that expire questions.
    pub(super) fn expired(&self, now: Timestamp) -> Vec<Record> {
        // The notifications of these questions expire by themselves at the same time.
        let due = self.open.due(now);
        due.map(|id| settled_question(*id, QuestionState::Expired, None, None, now))
            .collect()
    }

    pub(super) fn note_claimed(&mut self, it: &QuestionClaimed) {
        self.change(it.id, |question| {
            question.state = QuestionState::Claimed;
            question.by = Some(it.by.clone());
        });
    }

    pub(super) fn note_settled(&mut self, it: &QuestionSettled) {
        self.change(it.id, |question| {
            question.state = it.state;
            question.by.clone_from(&it.by);
            question.answer = it.answer;
            question.progress = Progress::Stored;
            question.settled_at = Some(it.at).filter(|_| it.state.is_final());
        });
    }

    fn change(&mut self, id: Seq, change: impl FnOnce(&mut Question)) {
        if let Some(mut question) = self.all.remove(&id) {
            self.open.remove(question.expires_at, id);
            self.forget_open(&question.project, &question.from, id);
            if let Some(answer) = question.answer {
                self.undelivered.remove(&answer);
            }
            change(&mut question);
            self.insert(id, question);
        }
    }

    fn forget_open(&mut self, project: &ProjectName, from: &InboxName, id: Seq) {
        let Some(of_project) = self.open_of.get_mut(project) else {
            return;
        };
        if let Some(of_asker) = of_project.get_mut(from) {
            of_asker.remove(&id);
            if of_asker.is_empty() {
                of_project.remove(from);
            }
        }
        if of_project.is_empty() {
            self.open_of.remove(project);
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
        self.undelivered.retain(|_, id| self.all.contains_key(id));
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        self.all.retain(|_, it| it.project != *project);
        self.open.retain(|id| self.all.contains_key(id));
        self.open_of.remove(project);
        self.undelivered.retain(|_, id| self.all.contains_key(id));
    }

    /// Withdraws every open question of a project.
    pub(super) fn withdraw_all(&mut self, project: &ProjectName) {
        let open = self.in_project(project);
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
                self.open.insert(it.expires_at, *id);
            }
            it.settled_at = it.settled_at.map(|at| at.plus_millis(delta_ms));
        }
    }
}

impl State {
    /// Returns the questions that are open, or whose asker does not have the answer yet, oldest first.
    pub fn unfinished_questions(&self) -> impl Iterator<Item = (Seq, &Question)> {
        let all = self.questions.all();
        all.filter(|(_, it)| !it.state.is_final() || self.awaits_delivery(it))
    }

    /// Returns the unfinished questions, and those that were settled in the last `ms` milliseconds, oldest first.
    pub fn recent_questions(
        &self,
        ms: i64,
        now: Timestamp,
    ) -> impl Iterator<Item = (Seq, &Question)> {
        let all = self.questions.all();
        all.filter(move |(_, it)| {
            !it.state.is_final() || it.was_settled_within(ms, now) || self.awaits_delivery(it)
        })
    }

    pub(super) fn decide_claim(
        &self,
        id: Seq,
        by: &InboxName,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let question = self.questions.demand_open(id)?;
        question.demand_person(by, false)?;
        let by = self.sessions.resolve(&question.project, by);
        if question.from == *by {
            return Err(Refusal::NotAllowed(
                "a sender cannot claim its own question",
            ));
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
        let question = self.questions.demand_open(id)?;
        let is_asker = question.from == *self.sessions.resolve(&question.project, by);
        let is_asker = is_asker && !question.is_kept_for_person();
        question.demand_person(by, is_asker)?;
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
                QuestionState::Answered => SettleReason::Answered,
                QuestionState::Superseded => SettleReason::Superseded,
                QuestionState::Expired => SettleReason::Expired,
                QuestionState::Open | QuestionState::Claimed | QuestionState::Withdrawn => {
                    SettleReason::Withdrawn
                }
            };
            records.extend(settled(vec![id], None, how, by, at));
        }
        records
    }
}

impl Transaction<'_> {
    /// Settles a question that this command has not settled yet.
    pub(super) fn settle_question(
        &mut self,
        id: Seq,
        state: QuestionState,
        by: &str,
        answer: Option<Seq>,
    ) {
        if self.settled.insert(id) {
            let settle = self
                .state
                .settle_question(id, state, Some(by), answer, self.now);
            self.also(settle);
        }
    }

    /// Withdraws the open questions of a session for which `which` is true.
    pub(super) fn withdraw_questions_of(
        &mut self,
        (project, session): (&ProjectName, &InboxName),
        by: &str,
        which: impl Fn(&Question) -> bool,
    ) {
        let open = self.state.questions.of(project, session);
        for (id, _) in open.filter(|(_, it)| which(it)) {
            self.settle_question(id, QuestionState::Withdrawn, by, None);
        }
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
