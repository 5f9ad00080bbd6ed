//! Questions: notifications that need exactly one answer.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{InboxName, Kind, ProjectName, QuestionState, Seq, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::State;
use super::deadlines::Deadlines;
use super::dialog::{is_dialog, is_dialog_key, is_held_key};
use super::status::settled;
use super::transaction::Transaction;
use crate::command::Refusal;
use crate::record::{QuestionClaimed, QuestionSettled, Record, Route, SettleReason};

/// The most open questions. Those of hooks are not counted: each agent has one dialog at a time.
const MAX_OPEN: usize = 1_000;

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

    /// Refuses those who take what only a person decides from the person's sight.
    fn demand_person(&self, by: &InboxName, may_anyway: bool) -> Result<(), Refusal> {
        if self.is_for_person() && by.as_str() != InboxName::PERSON && !may_anyway {
            return Err(Refusal::NotAllowed("this is settled by a person"));
        }
        Ok(())
    }

    /// Returns the answer, if a held hook delivers it.
    fn answer_by_hook(&self) -> Option<Seq> {
        let by_hook = self.key.as_deref().is_some_and(is_held_key);
        self.answer
            .filter(|_| by_hook && self.state == QuestionState::Answered)
    }
}

/// Every question whose text the log still holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct QuestionTable {
    all: BTreeMap<Seq, Question>,
    open: Deadlines<Seq>,
    /// The answers that held hooks deliver and that are not taken yet, with their questions.
    undelivered: BTreeMap<Seq, Seq>,
}

impl QuestionTable {
    pub(super) fn get(&self, id: Seq) -> Option<&Question> {
        self.all.get(&id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Seq, &Question)> {
        self.all.iter().map(|(id, question)| (*id, question))
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (Seq, &Question)> {
        let open = self.open.iter();
        open.filter_map(|id| Some((*id, self.get(*id)?)))
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
            let question = Question {
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
            };
            self.insert(id, question);
        }
    }

    fn insert(&mut self, id: Seq, question: Question) {
        if !question.state.is_final() {
            self.open.insert(question.expires_at, id);
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

    fn change(&mut self, id: Seq, change: impl FnOnce(&mut Question)) {
        if let Some(mut question) = self.all.remove(&id) {
            self.open.remove(question.expires_at, id);
            if let Some(answer) = question.answer {
                self.undelivered.remove(&answer);
            }
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
        self.undelivered.retain(|_, id| self.all.contains_key(id));
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        self.all.retain(|_, it| it.project != *project);
        self.open.retain(|id| self.all.contains_key(id));
        self.undelivered.retain(|_, id| self.all.contains_key(id));
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
                self.open.insert(it.expires_at, *id);
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

    /// Returns the first open question of a project for which `which` is true.
    pub fn open_question_of(
        &self,
        project: &ProjectName,
        which: impl Fn(&Question) -> bool,
    ) -> Option<Seq> {
        let mut open = self.questions.open();
        let found = open.find(|(_, it)| it.project == *project && which(it));
        found.map(|(id, _)| id)
    }

    /// Returns the questions that are open, or whose asker does not have the answer yet, oldest first.
    pub fn unfinished_questions(&self) -> impl Iterator<Item = (Seq, &Question)> {
        let all = self.questions.all();
        all.filter(|(_, it)| !it.state.is_final() || self.awaits_delivery(it))
    }

    /// Returns the unfinished questions, and those that were settled after `since`, oldest first.
    pub fn questions_since(&self, since: Timestamp) -> impl Iterator<Item = (Seq, &Question)> {
        let is_recent = move |it: &Question| it.settled_at.is_some_and(|at| at > since);
        let all = self.questions.all();
        all.filter(move |(_, it)| !it.state.is_final() || is_recent(it) || self.awaits_delivery(it))
    }

    /// Returns when the session asked the question that its dialog shows now.
    pub fn dialog_since(&self, project: &ProjectName, session: &InboxName) -> Option<Timestamp> {
        let open = self.questions.of(project, session);
        let dialogs = open.filter(|(_, it)| is_dialog(it));
        dialogs.map(|(_, it)| it.ts).max()
    }

    /// Whether the hook of a dialog of this session is held for the answer.
    pub fn holds_dialog(&self, project: &ProjectName, session: &InboxName) -> bool {
        let mut open = self.questions.of(project, session);
        open.any(|(_, it)| it.key.as_deref().is_some_and(is_held_key))
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

    pub(super) fn decide_claim(
        &self,
        id: Seq,
        by: &InboxName,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let question = self.open_question(id)?;
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
        let question = self.open_question(id)?;
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
        let due = self.questions.open.due(now);
        due.map(|id| settled_question(*id, QuestionState::Expired, None, None, now))
            .collect()
    }

    pub(super) fn apply_claimed(&mut self, it: &QuestionClaimed) {
        self.questions.change(it.id, |question| {
            question.state = QuestionState::Claimed;
            question.by = Some(it.by.clone());
        });
    }

    pub(super) fn apply_question_settled(&mut self, it: &QuestionSettled) {
        self.note_loss_settled(it);
        self.questions.change(it.id, |question| {
            question.state = it.state;
            question.by.clone_from(&it.by);
            question.answer = it.answer;
            question.progress = Progress::Stored;
            question.settled_at = Some(it.at).filter(|_| it.state.is_final());
        });
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

impl Serialize for QuestionTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for QuestionTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut questions = Self::default();
        for (id, question) in BTreeMap::deserialize(deserializer)? {
            questions.insert(id, question);
        }
        Ok(questions)
    }
}
