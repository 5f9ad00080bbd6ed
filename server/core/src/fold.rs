//! The fold: everything the hub knows, computed from the log alone.
//!
//! [`State::decide`] turns a command into records, and [`State::apply`] applies a record. Both are pure: no I/O, no
//! clock. A concept, for example [`Sessions`], owns its maps and all that concerns it alone. [`State`] composes the
//! concepts and adds what concerns several; a transaction collects the records of one command. A serialised state holds
//! facts only. Its indexes are rebuilt when it is read, so equal folds have equal bytes.

use std::collections::BTreeMap;

use hub_protocol::{InboxName, Preferences, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use crate::command::{Command, Decision, Refusal};
use crate::record::{ClockMoved, Led, Record, Turn};
use crate::rule::RuleSet;

// The concepts that commands change and records update, one a file:
mod answer; // who may answer a question, and how an answer reaches the asker
mod collapse; // a newer item supersedes a pending one with the same key
mod delivery; // acknowledged, emitted, returned, escalated
mod dialog; // questions that an agent shows in a dialog of its own
mod forward; // how far each forward is
mod hook; // an agent's hook events become notifications
mod idempotency; // a request with an Idempotency-Key is carried out once
mod inbox; // one inbox and its pending items
mod inbox_room; // how many inboxes there may be, and which empty ones are closed for others
mod inboxes; // all inboxes, and their closing
mod listener; // a session is notified of another session's next stop
mod loss; // what was lost, and whether the person knows
mod notification; // the inboxes that a notification goes to
mod phase; // whether a session waits for the person
mod preferences; // the person's preferences
mod process; // the processes that run a session
mod question; // one question
mod questions; // all questions: asked, claimed, settled
mod reset; // a project is emptied
mod retention; // the log's prefix is dropped
mod ride_along; // why a notification wakes nobody
mod rule; // rules fire on notifications and on sessions
mod rules; // how often rules fired, their cooldowns, and what they still have to do
mod seen; // the person's seen marks
mod session; // one session: its state, properties and turn
mod session_lookup; // how sessions are found: by id, name, process or directory
mod session_registry; // sessions are registered, named and ended
mod session_reports; // what records report about a session
mod session_roles; // the primary, workers, and the readers of inboxes
mod session_room; // how many sessions may be alive, and how large their registrations are
mod sessions; // all sessions and their names
mod source; // senders that are not sessions
mod status; // why a notification is no longer pending
mod tick; // everything that is due by time alone
mod turn; // the turn in which a notification was sent
mod wake_class; // how a wake counts against the wake limits

// Modules that the concepts use:
mod deadlines;
mod hook_data;
mod nearest;
mod ranges;
mod texts;
mod transaction;

pub use answer::{AnswerPath, HookConnection, place_of};
pub use delivery::Delivery;
pub use forward::{ForwardCursor, Forwards};
pub use hub_protocol::Status;
pub use idempotency::IdempotencyKeys;
pub use inbox::{Inbox, Item};
pub use inboxes::Inboxes;
pub use listener::Listener;
pub use loss::{Loss, Losses};
pub use phase::SessionPhase;
pub use question::Question;
pub use questions::Questions;
pub use reset::HiddenHistory;
pub use retention::Retention;
pub use ride_along::RideAlong;
pub use rule::{received, subject};
pub use rules::{OpenRun, RuleTally, Rules};
pub use seen::SeenMarks;
pub use session::{Registered, Session, SessionKey};
pub use sessions::Sessions;
pub use wake_class::WakeClass;

/// Values by project and name.
type ByProject<T> = BTreeMap<ProjectName, BTreeMap<InboxName, T>>;

/// Returns the values of one project, or of all, sorted by name.
fn each<'a, T>(
    of: &'a ByProject<T>,
    project: Option<&ProjectName>,
) -> impl Iterator<Item = (&'a ProjectName, &'a InboxName, &'a T)> {
    let one = project.and_then(|it| of.get_key_value(it));
    let all = project.is_none().then_some(of).into_iter().flatten();
    let found = one.into_iter().chain(all);
    found.flat_map(|(project, values)| values.iter().map(move |(name, it)| (project, name, it)))
}

/// Whether a reader has leased this item of this inbox. Leases are part of presence, so the caller supplies them.
pub type Leased<'a> = dyn Fn(&ProjectName, &InboxName, Seq) -> bool + 'a;

/// The fold of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    head: Seq,
    /// All inboxes.
    pub inboxes: Inboxes,
    /// The keys of past requests.
    pub keys: IdempotencyKeys,
    /// All sessions.
    pub sessions: Sessions,
    #[serde(default)]
    listeners: listener::Listeners,
    /// All questions whose text the log still holds.
    #[serde(default)]
    pub questions: Questions,
    #[serde(default)]
    sources: source::Sources,
    /// The notifications that the person has seen.
    pub seen: SeenMarks,
    outcomes: status::Outcomes,
    /// The person's preferences: quiet hours, mutes and alerts.
    #[serde(default)]
    pub preferences: Preferences,
    /// How far each forward is.
    #[serde(default)]
    pub forwards: Forwards,
    /// The range of the log that is kept.
    pub retention: Retention,
    /// The lost notifications and records.
    #[serde(default, skip_serializing_if = "Losses::is_empty")]
    pub losses: Losses,
    /// The hidden history of projects.
    #[serde(default)]
    pub hidden: HiddenHistory,
    /// The state of the rules.
    #[serde(default)]
    pub rules: Rules,
    /// The active hub of the cluster and its term; `None` for a hub on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leader: Option<(Seq, Led)>,
}

impl State {
    /// Decides a command. Returns the records to commit, numbered from `head() + 1` in order, or why the command is
    /// refused. The records of a `Notify` begin with one `Notified` for each draft. `rules` fire on each notification that
    /// the command stores.
    pub fn decide(
        &self,
        command: &Command,
        now: Timestamp,
        leased: &Leased<'_>,
        rules: &RuleSet,
    ) -> Result<Decision, Refusal> {
        if let Some(ids) = self.keys.stored_by(command, now)? {
            return Ok(Decision::Repeat(ids));
        }
        if let Command::Rule(it) = command {
            let records = self.decide_rule(it, rules, now, leased)?;
            return Ok(Decision::Records(records));
        }
        let records = self.decide_once(command, now, leased)?;
        let key = idempotency::key_used(command, &records, self.head + 1, now);
        let escalates = matches!(command, Command::Tick);
        let mut records = self.with_rules(records, rules, now, leased, escalates);
        records.extend(key);
        Ok(Decision::Records(records))
    }

    fn decide_once(
        &self,
        command: &Command,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Vec<Record>, Refusal> {
        let pair =
            |project, target, caller| listener::Pair::resolved(self, project, target, caller);
        let moved = |delta_ms| Record::ClockMoved(ClockMoved { delta_ms, at: now });
        match command {
            Command::Notify { drafts, .. } => self.decide_notify(drafts, now, leased),
            Command::Ack {
                project,
                items,
                by,
                shown,
            } => self.decide_ack(project, items, by.as_deref(), shown.as_ref(), now),
            Command::Undelivered {
                project,
                items,
                way,
                why,
            } => Ok(self
                .inboxes
                .decide_undelivered(project, items, *way, why, now)),
            Command::Withdraw { ids } => self.decide_withdraw(ids, now),
            Command::WithdrawKey { project, from, key } => {
                Ok(self.decide_withdraw_key(project, from.as_ref(), key, now))
            }
            Command::SetPreferences(new) => Ok(self.decide_preferences(new, now)),
            Command::Seen { ids, ranges, seen } => {
                self.check_ids(ids.iter().chain(ranges.iter().map(|(_, last)| last)))?;
                Ok(self.seen.decide(ids, ranges, *seen, now))
            }
            Command::CloseInbox { project, inbox } => self.decide_close(project, inbox, now),
            Command::Reset { project, history } => Ok(self.decide_reset(project, *history, now)),
            // It was planned before the jump was recorded.
            Command::Trim { by_age: true, .. } if self.retention.is_paused(now) => Ok(Vec::new()),
            Command::Trim {
                below, rewritten, ..
            } => Ok(self.decide_trim(*below, rewritten, now)),
            Command::Register {
                project,
                session,
                info,
                runs,
            } => self.decide_register((project, session), info, *runs, now),
            Command::End {
                project,
                session,
                exited,
                process,
                quiet,
            } => {
                let how = (*exited, *quiet);
                self.decide_end(project, session, how, process.as_ref(), now, leased)
            }
            Command::TakePrimary { project, session } => {
                self.sessions.decide_primary(project, session, now)
            }
            Command::CloseNeed { session, of, until } => {
                self.sessions.decide_close_need(session, *of, *until, now)
            }
            Command::Resume { session, of, on } => {
                self.sessions.decide_resume(session, (*of, *on), now)
            }
            Command::Hook(hook) => self.decide_hook(hook, now, leased),
            Command::Listen {
                project,
                target,
                caller,
                within_ms,
                fresh,
            } => {
                let pair = pair(project, target, caller);
                self.decide_listen(&pair, *within_ms, *fresh, now, leased)
            }
            Command::Unlisten {
                project,
                target,
                caller,
            } => Ok(self.decide_unlisten(&pair(project, target, caller), now)),
            Command::Claim { id, by } => self.decide_claim(*id, by, now),
            Command::WithdrawQuestion { id, by } => self.decide_withdraw_question(*id, by, now),
            Command::NoteAnswer {
                question,
                delivered,
            } => Ok(self.decide_note_answer(*question, *delivered, now)),
            Command::Forwarded {
                name,
                up_to,
                answer,
            } => Ok(self.forwards.decide(name, *up_to, answer.as_deref(), now)),
            Command::Tick => Ok(self.decide_tick(now, leased)),
            Command::ClockMoved { delta_ms } => Ok(vec![moved(*delta_ms)]),
            // Rules never fire on what rules do, so `decide` handles these.
            Command::Rule(_) => Ok(Vec::new()),
            Command::Lead {
                node,
                clock_moved_ms,
            } => {
                let (node, at) = (node.clone(), now);
                // In one commit, so that nothing expires by the new clock in between.
                let moved = clock_moved_ms.map(moved);
                let led = Record::Led(Led { node, at });
                Ok(std::iter::once(led).chain(moved).collect())
            }
        }
    }

    /// Applies the record with the number `seq`, which must be `head() + 1`. Cannot fail.
    pub fn apply(&mut self, seq: Seq, record: &Record) {
        self.head = seq;
        match record {
            Record::Notified(it) => self.apply_notified(seq, it),
            Record::Settled(it) => self.apply_settled(it),
            Record::Seen(it) => self.seen.note(it),
            Record::InboxClosed(it) => self.apply_inbox_closed(it),
            Record::KeyUsed(it) => self.keys.note(seq, it),
            Record::ClockMoved(it) => self.apply_clock_moved(it),
            Record::Rewritten(it) => self.apply_rewritten(seq, it.id),
            Record::Trimmed(it) => self.apply_trimmed(it.below),
            Record::Reset(it) => self.apply_reset(seq, it),
            Record::Led(it) => self.leader = Some((seq, it.clone())),
            Record::SessionSet(it) => self.sessions.set(seq, it),
            Record::TurnNoted(it) => {
                self.sessions.note_turn(seq, it);
                if matches!(it.turn, Turn::Stopped { .. }) {
                    self.questions.end_turn((&it.project, &it.session));
                }
            }
            Record::SessionEnded(it) => self.sessions.end(seq, it),
            Record::PrimaryTaken(it) => self.sessions.take_primary(&it.project, &it.session),
            Record::NeedClosed(it) => self.sessions.close_need(seq, it),
            Record::ListenerSet(it) => self.listeners.note_set(it),
            Record::ListenerRemoved(it) => self.listeners.note_removed(it),
            Record::QuestionClaimed(it) => self.questions.note_claimed(it),
            Record::QuestionSettled(it) => {
                self.losses.note_settled(self.questions.get(it.id), it);
                self.questions.note_settled(it);
            }
            Record::Emitted(it) => {
                self.questions
                    .note_answers(&it.ids, question::Progress::Delivered);
                self.inboxes.note_emitted(it);
            }
            Record::Returned(it) => self.inboxes.note_returned(it),
            Record::Escalated(it) => self.inboxes.note_escalated(it),
            Record::PreferencesSet(it) => self.preferences.clone_from(&it.preferences),
            Record::RuleFired(it) => self.rules.fired(seq, it),
            Record::RuleNoted(it) => self.rules.noted(it),
            Record::ForwardNoted(it) => self.forwards.note(it),
        }
    }

    /// Returns the number of the last applied record.
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Returns the hub that became active last, and its term.
    pub fn leader(&self) -> Option<&(Seq, Led)> {
        self.leader.as_ref()
    }

    /// Returns the inbox or live session of the project whose name is most similar to `name`; `None` if none is
    /// similar enough. Never `name` itself.
    pub fn nearest_inbox(&self, project: &ProjectName, name: &InboxName) -> Option<InboxName> {
        let sessions = self.sessions.iter(Some(project)).map(|(_, _, it)| it);
        let alive = sessions.filter(|it| it.is_alive());
        let called = alive.filter_map(|it| it.name()?.parse().ok());
        let called: Vec<InboxName> = called.collect();
        let inboxes = self.inboxes.iter(Some(project));
        let known = inboxes.map(|(_, name, _)| name).chain(&called);
        nearest::nearest(name, known).cloned()
    }
}
