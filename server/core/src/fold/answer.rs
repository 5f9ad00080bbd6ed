//! Answers: which posts answer a question, which senders may, and how an answer reaches the asker.

use std::collections::BTreeSet;

use hub_protocol::{
    AnswerDelivery, InboxName, Kind, Place, Post, ProjectName, QuestionState, Seq, SessionInfo,
    SessionState, Timestamp, Way,
};

use super::delivery::is_proof;
use super::dialog::{answer_kind, has_id, is_about, is_dialog_key, is_held_key, subagent_of};
use super::question::{Progress, Question};
use super::questions::{Questions, settled_question};
use super::session::Session;
use super::status::settled;
use super::transaction::Transaction;
use super::{State, texts};
use crate::command::{AgentEvent, Hook, Refusal};
use crate::notification::{Draft, kind_of};
use crate::record::{Emitted, Record, SettleReason};

/// Whether the hook that delivers the answer to a question is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookConnection {
    /// The hub holds its request.
    Held,
    /// The hub does not hold it yet: it has just started, and the hook may connect again.
    Expected,
    /// The hub does not hold it.
    Gone,
}

/// How an answer reaches the asker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerPath {
    /// Through the asker's inbox.
    Inbox,
    /// Only through a held request of the asker's hook.
    Request,
    /// Not at all: the question is shown in the agent's own terminal, or the asker has ended.
    Nowhere,
}

impl State {
    /// Turns posts that reply to open questions into answers, unless they name another type. An answer without a
    /// project is assigned to its question's project.
    pub fn place_answers(&self, posts: &mut [Post]) {
        let mut answered = BTreeSet::new();
        for post in posts {
            let asked = post
                .reply_to
                .and_then(|id| Some((id, self.questions.get(id)?)));
            let Some((id, asked)) = asked else {
                continue;
            };
            if self.is_answer(post, id) && !answered.contains(&id) {
                post.kind = Some(Kind::Answer);
            }
            if kind_of(post) == Some(Kind::Answer) {
                answered.insert(id);
                let project = || asked.project.clone();
                post.project.get_or_insert_with(project);
            }
        }
    }

    /// Whether a reply to a question is a plain text for the asker alone, and so an answer.
    fn is_answer(&self, post: &Post, id: Seq) -> bool {
        let Ok(asked) = self.questions.demand_open(id) else {
            return false;
        };
        let is_asker =
            |name: &InboxName| *self.sessions.resolve(&asked.project, name) == asked.from;
        // A dialog is answered in the agent's terminal, and a permission needs an explicit answer.
        let is_dialog = asked.key.as_deref().is_some_and(is_dialog_key);
        kind_of(post).is_none_or(|kind| kind == Kind::Message)
            && asked.kind == Kind::Question
            && !is_dialog
            && post.project.as_ref().is_none_or(|it| *it == asked.project)
            && post.to.as_ref().is_none_or(is_asker)
            && !post
                .from
                .as_ref()
                .map_or(asked.from.as_str() == InboxName::UNKNOWN, is_asker)
    }

    /// Returns how an answer reaches the asker.
    pub fn reach(&self, question: &Question) -> AnswerPath {
        let asker = self.sessions.asker(question);
        if asker.is_some_and(|it| !it.is_alive()) {
            return AnswerPath::Nowhere;
        }
        match question.key.as_deref() {
            Some(key) if is_dialog_key(key) => AnswerPath::Nowhere,
            Some(key) if is_held_key(key) => AnswerPath::Request,
            _ => AnswerPath::Inbox,
        }
    }

    /// Returns why an answer cannot settle the dialog that the agent shows; `None` if it can, or if there is no dialog.
    /// `is_held` is whether a hook request is held for the answer to a question.
    pub fn undeliverable(&self, answer: &Draft, is_held: impl Fn(Seq) -> bool) -> Option<Refusal> {
        let id = answer.body.reply_to?;
        let question = self.questions.get(id)?;
        if answer.allows_unseen {
            return Some(Refusal::Unseen(id));
        }
        let key = question.key.as_deref()?;
        match answer_kind(key) {
            Some(takes) if is_held(id) => {
                let usable = takes.accepts(&answer.body);
                return (!usable).then_some(Refusal::UnusableAnswer { id, takes });
            }
            None if !is_dialog_key(key) => return None,
            _ => {}
        }
        let asker = self.sessions.resolve(&question.project, &question.from);
        let session = self.sessions.get(&question.project, asker);
        let info = session.and_then(Session::info);
        Some(Refusal::InTerminal {
            id,
            name: texts::name(asker, session).to_owned(),
            place: info.map(place_of).unwrap_or_default(),
        })
    }

    /// Returns how far the answer to a question has come; `None` if the question was closed without an answer.
    /// `hook` is for a question whose answer a hook delivers.
    pub fn answer_delivery(
        &self,
        question: &Question,
        hook: HookConnection,
    ) -> Option<AnswerDelivery> {
        let key = question.key.as_deref().unwrap_or_default();
        let by_hook = is_held_key(key);
        Some(match question.state {
            QuestionState::Open | QuestionState::Claimed if by_hook => match hook {
                HookConnection::Held => AnswerDelivery::Waiting,
                HookConnection::Expected => AnswerDelivery::Reconnecting,
                HookConnection::Gone => AnswerDelivery::Terminal,
            },
            QuestionState::Open | QuestionState::Claimed if is_dialog_key(key) => {
                AnswerDelivery::Terminal
            }
            QuestionState::Open | QuestionState::Claimed => AnswerDelivery::Waiting,
            QuestionState::Answered if by_hook => match question.progress {
                Progress::Stored if hook == HookConnection::Gone => AnswerDelivery::Terminal,
                Progress::Stored => AnswerDelivery::Stored,
                Progress::Delivered | Progress::Untold => AnswerDelivery::Delivered,
                Progress::Taken => AnswerDelivery::Taken,
            },
            QuestionState::Answered => self.inbox_delivery(question, question.answer?)?,
            QuestionState::Withdrawn | QuestionState::Superseded | QuestionState::Expired => {
                return None;
            }
        })
    }

    /// Returns how far an answer has come that goes through the asker's inbox. A sender that is not registered may read
    /// the answer in a way that the hub does not see, so for such a sender there is none.
    fn inbox_delivery(&self, question: &Question, answer: Seq) -> Option<AnswerDelivery> {
        let asker = self.sessions.resolve(&question.project, &question.from);
        let session = self.sessions.get(&question.project, asker);
        session.filter(|it| it.registered.is_some())?;
        let inbox = self.inboxes.get(&question.project, asker);
        let Some(item) = inbox.and_then(|inbox| inbox.get(answer)) else {
            // An ended asker has no inbox, and an answer may expire.
            let lost = self.outcomes.get(answer).is_some() || inbox.is_none();
            return Some(if lost {
                AnswerDelivery::Stored
            } else {
                AnswerDelivery::Taken
            });
        };
        Some(match item.delivery().emitted {
            Some((_, way)) if !way.announces() => AnswerDelivery::Delivered,
            _ => AnswerDelivery::Stored,
        })
    }

    /// Whether the asker is alive and does not have its answer yet. Beyond the turn, no event tells of the answer of a hook.
    pub fn awaits_delivery(&self, question: &Question) -> bool {
        if question.state != QuestionState::Answered || question.progress == Progress::Untold {
            return false;
        }
        let asker = self.sessions.asker(question);
        let delivery = self.answer_delivery(question, HookConnection::Held);
        let is_given = question.progress == Progress::Delivered;
        asker.is_some_and(|it| it.is_alive() && (it.is_in_turn() || !is_given))
            && question
                .answer
                .is_some_and(|it| self.outcomes.get(it).is_none())
            && matches!(
                delivery,
                Some(AnswerDelivery::Stored | AnswerDelivery::Delivered)
            )
    }

    /// Records that the agent got the answer to a held question. If it could not be given to the agent, the question is
    /// open again, because the agent's own dialog waits for the answer, unless its session has gone on since it asked.
    pub(super) fn decide_note_answer(
        &self,
        id: Seq,
        delivered: bool,
        now: Timestamp,
    ) -> Vec<Record> {
        let question = self.questions.undelivered(id);
        let Some((question, answer)) = question.filter(|(it, _)| it.progress == Progress::Stored)
        else {
            return Vec::new();
        };
        vec![if delivered {
            Record::Emitted(Emitted {
                project: question.project.clone(),
                inbox: question.from.clone(),
                ids: vec![answer],
                way: Way::Hook,
                by: None,
                at: now,
            })
        } else if self.has_gone_on_since(question) {
            settled_question(id, QuestionState::Withdrawn, Some("resumed"), None, now)
        } else {
            settled_question(id, QuestionState::Open, None, None, now)
        }]
    }

    /// Whether the session that asked has reported another state since. That of a subagent goes on meanwhile, and one that
    /// names its dialogs may have shown another beside it.
    fn has_gone_on_since(&self, question: &Question) -> bool {
        let asks_beside =
            |it: &Session| has_id(question) && it.state == Some(SessionState::Blocked);
        let asker = self.sessions.asker(question);
        let has_gone_on = |it: &Session| it.ts > question.ts && !asks_beside(it);
        subagent_of(question).is_none() && asker.is_some_and(has_gone_on)
    }
}

impl Questions {
    /// Returns the questions whose answers are stored for held hooks and not delivered.
    pub fn with_stored_answers(&self) -> impl Iterator<Item = Seq> {
        let all = self.all_undelivered();
        let stored = all.filter(|(_, _, it)| it.progress == Progress::Stored);
        stored.map(|(id, _, _)| id)
    }

    /// Returns the answers that the hooks of a session or its subagent deliver and that it has not taken as far as the hub
    /// knows, each after its question; only that to one dialog if an event names it.
    pub fn unproven_answers(
        &self,
        place: (&ProjectName, &InboxName),
        subagent: Option<&str>,
        dialog: Option<&str>,
    ) -> Vec<(Seq, Seq)> {
        let all = self.all_undelivered();
        let of = all.filter(|(_, _, it)| (&it.project, &it.from) == place);
        let of = of.filter(|(_, _, it)| is_about(it, subagent, dialog));
        of.map(|(id, answer, _)| (id, answer)).collect()
    }

    /// Returns the records about the answers that the agent took, and those instead of which it took the answer of its own
    /// terminal, because this event tells it.
    pub(super) fn told_answers(
        &self,
        place: (&ProjectName, &InboxName),
        hook: &Hook,
        now: Timestamp,
    ) -> Vec<Record> {
        let (mut taken, mut records) = (Vec::new(), Vec::new());
        let (subagent, dialog) = (hook.subagent.as_deref(), hook.dialog.as_deref());
        for (id, answer) in self.unproven_answers(place, subagent, dialog) {
            match uses(hook, answer) {
                Some(true) if self.is_given(id) => taken.push(answer),
                Some(false) => {
                    let (state, by) = (QuestionState::Withdrawn, Some("resumed"));
                    records.push(settled_question(id, state, by, None, now));
                }
                _ => {}
            }
        }
        let (acked, by) = (SettleReason::Acked, Some("resumed"));
        records.extend(settled(taken, Some(place), acked, by, now));
        records
    }

    /// Notes that a turn of a session ended: no answer that its hooks gave is waited for.
    pub(super) fn end_turn(&mut self, place: (&ProjectName, &InboxName)) {
        let all = self.all_undelivered();
        let given = all.filter(|(_, _, it)| {
            (&it.project, &it.from) == place && it.progress == Progress::Delivered
        });
        let given: Vec<Seq> = given.map(|(_, answer, _)| answer).collect();
        self.note_answers(&given, Progress::Untold);
    }

    /// Whether the hook of a question gave its answer to the agent.
    fn is_given(&self, id: Seq) -> bool {
        let question = self.get(id);
        question.is_some_and(|it| it.progress >= Progress::Delivered)
    }

    /// Returns the question that a draft answers. Fails if the sender may not answer it.
    fn answered_by(&self, draft: &Draft, from: &InboxName) -> Result<Seq, Refusal> {
        let id = draft.body.reply_to.ok_or(Refusal::NoSuchQuestion)?;
        let question = self.demand_open(id)?;
        // An answer can only reach an inbox of its own project.
        if question.project != draft.body.project {
            return Err(Refusal::NoSuchQuestion);
        }
        if question.from == *from {
            return Err(Refusal::NotAllowed(
                "a sender cannot answer its own question",
            ));
        }
        // The agent takes the answer to its dialog for the person's own words.
        let is_dialog = question.key.as_deref().is_some_and(is_held_key);
        let is_for_person = question.kind == Kind::Approval || is_dialog || question.is_of_hub();
        if is_for_person && !draft.may_approve {
            return Err(Refusal::NotAllowed(
                "this is answered by a person: on the dashboard, or with hubctl answer over the hub's socket in a terminal that no agent started",
            ));
        }
        Ok(id)
    }
}

impl Transaction<'_> {
    /// Settles the question that an answer names.
    pub(super) fn answer(
        &mut self,
        draft: &Draft,
        from: &InboxName,
        id: Seq,
    ) -> Result<(), Refusal> {
        let question = self.state.questions.answered_by(draft, from)?;
        let state = QuestionState::Answered;
        if self.settled.contains(&question) {
            let id = question;
            return Err(Refusal::QuestionSettled { id, state });
        }
        self.settle_question(question, state, from.as_str(), Some(id));
        if from.as_str() == InboxName::PERSON {
            self.mark_read(question);
        }
        Ok(())
    }

    /// Withdraws the open questions of a session that reports that it works again or has completed its work. A report
    /// that arrives late says nothing about later questions. Anyone can report that, so what its hooks hold or show in a
    /// dialog ends by its hooks alone, and what another agent reports ends nothing that is for a person.
    pub(super) fn close_questions(&mut self, draft: &Draft) {
        let it = &draft.body;
        let from = self.state.sessions.resolve(&it.project, &it.from);
        if draft.ends_questions()
            && let Some((session, _)) = self.session_change(draft, from)
        {
            let asker = (&it.project, &session);
            let earlier = |it: &Question| it.ts <= draft.body.ts;
            let stays = |it: &Question| {
                it.is_kept_for_person() || draft.keeps_sessions && it.is_for_person()
            };
            self.withdraw_questions_of(asker, "resumed", |it| earlier(it) && !stays(it));
        }
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

/// Whether the agent used an answer that its hook delivered; `None` if the event does not tell.
fn uses(hook: &Hook, answer: Seq) -> Option<bool> {
    match &hook.used {
        Some(told) => {
            let told = told.iter().find(|(it, _)| *it == answer);
            told.map(|(_, used)| *used)
        }
        None => proves_use(hook).then_some(true),
    }
}

/// Whether the event is a next step of the session or its subagent. A held request is not yet proof that the model
/// continued; neither is a file. But the next dialog proves that the one before it was answered.
fn proves_use(hook: &Hook) -> bool {
    let asks = matches!(
        hook.happened,
        AgentEvent::Asks { .. } | AgentEvent::Permission { .. }
    );
    match hook.held {
        Some(_) if asks => true,
        _ if hook.subagent.is_some() => hook.happened == AgentEvent::Worked,
        held => held.is_none() && hook.derived_at.is_none() && is_proof(&hook.happened, Way::Hook),
    }
}
