//! The fold: everything the hub knows, computed from the log alone.
//!
//! [`State::decide`] turns a command into records, and [`State::apply`] applies a record. Both are pure: no I/O, no
//! clock. A serialised state holds facts only. Its indexes are rebuilt when it is read, so equal folds have equal
//! bytes.

use hub_protocol::{InboxName, Preferences, ProjectName, Seq, SessionState, Timestamp};
use serde::{Deserialize, Serialize};

use crate::command::{Command, Decision, Refusal};
use crate::record::{ClockMoved, How, Notified, Record};

mod batch;
mod collapse;
mod due;
mod expiry;
mod hidden;
mod hook;
mod idempotency;
mod inbox;
mod inboxes;
mod listener;
mod nearest;
mod notify;
mod outcome;
mod preferences;
mod question;
mod ranges;
mod receipt;
mod registry;
mod reply;
mod retention;
mod seen;
mod session;
mod sessions;
mod settle;
mod source;
mod standing;
mod texts;

pub use hub_protocol::Status;
pub use inbox::{Inbox, Item};
pub use listener::Listener;
pub use notify::MAX_HOPS;
pub use question::{Question, Reach, place_of};
pub use session::{Key, Registered, Session};
pub use standing::Standing;

/// Whether a reader has leased this item of this inbox. Leases are part of presence, so the caller supplies them.
pub type Leased<'a> = dyn Fn(&ProjectName, &InboxName, Seq) -> bool + 'a;

/// The fold of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    head: Seq,
    inboxes: inboxes::Inboxes,
    keys: idempotency::Keys,
    sessions: sessions::Sessions,
    #[serde(default)]
    listeners: listener::Listeners,
    #[serde(default)]
    questions: question::Questions,
    #[serde(default)]
    sources: source::Sources,
    seen: ranges::Ranges,
    outcomes: outcome::Outcomes,
    #[serde(default)]
    preferences: Preferences,
    retention: retention::Retention,
    #[serde(default)]
    hidden: hidden::Hidden,
}

impl State {
    /// Decides a command. Returns the records to commit, numbered from `head() + 1` in order, or why the command is
    /// refused. The records of a `Notify` begin with one `Notified` for each draft.
    pub fn decide(
        &self,
        command: &Command,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Decision, Refusal> {
        let records = match command {
            Command::Notify { drafts, once } => {
                return self.decide_notify(drafts, once.as_ref(), now, leased);
            }
            Command::Ack {
                project,
                items,
                by,
                shown,
            } => self.decide_ack(project, items, by.as_deref(), shown.as_ref(), now)?,
            Command::Withdraw { ids } => self.decide_withdraw(ids, now)?,
            Command::WithdrawKey { project, from, key } => {
                self.decide_withdraw_key(project, from.as_ref(), key, now)
            }
            Command::SetPreferences(wanted) => self.decide_preferences(wanted, now),
            Command::Seen { ids, up_to, seen } => self.decide_seen(ids, *up_to, *seen, now)?,
            Command::CloseInbox { project, inbox } => self.decide_close(project, inbox, now)?,
            Command::Reset { project, history } => self.decide_reset(project, *history, now),
            Command::Trim { below, carried } => self.decide_trim(*below, carried, now),
            Command::Tick => self.decide_tick(now, leased),
            Command::ClockMoved { delta_ms } => vec![Record::ClockMoved(ClockMoved {
                delta_ms: *delta_ms,
                at: now,
            })],
            Command::Hook(hook) => return self.decide_hook_once(hook, now, leased),
            command => return self.decide_for_session(command, now, leased),
        };
        Ok(Decision::Records(records))
    }

    /// Decides the commands about sessions, listeners and questions.
    fn decide_for_session(
        &self,
        command: &Command,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Decision, Refusal> {
        let pair = |project: &ProjectName, target, caller| listener::Pair {
            project: project.clone(),
            target: self.called(project, target).clone(),
            caller: self.called(project, caller).clone(),
        };
        let records = match command {
            Command::Register {
                project,
                session,
                info,
            } => self.decide_register(project, session, info, now),
            Command::End {
                project,
                session,
                gone,
                quiet,
            } => self.decide_end(project, session, (*gone, *quiet), now, leased)?,
            Command::TakePrimary { project, session } => {
                self.decide_primary(project, session, now)?
            }
            Command::Listen {
                project,
                target,
                caller,
                within_ms,
                fresh,
            } => {
                let pair = pair(project, target, caller);
                self.decide_listen(&pair, *within_ms, *fresh, now, leased)?
            }
            Command::Unlisten {
                project,
                target,
                caller,
            } => self.decide_unlisten(&pair(project, target, caller), now),
            Command::Claim { id, by } => self.decide_claim(*id, by, now)?,
            Command::WithdrawQuestion { id, by } => self.decide_withdraw_question(*id, by, now)?,
            _ => Vec::new(),
        };
        Ok(Decision::Records(records))
    }

    /// Applies the record with the number `seq`, which must be `head() + 1`. Cannot fail.
    pub fn apply(&mut self, seq: Seq, record: &Record) {
        self.head = seq;
        match record {
            Record::Notified(it) => self.apply_notified(seq, it),
            Record::Settled(it) => self.apply_settled(it),
            Record::Seen(it) => self.apply_seen(it),
            Record::InboxClosed(it) => {
                for id in self.inboxes.close(&it.project, &it.inbox) {
                    self.settle(id, How::Dropped);
                }
                self.sessions.forget_over(&it.project, &it.inbox);
            }
            Record::KeyUsed(it) => self.keys.note(seq, it),
            Record::ClockMoved(it) => self.apply_clock_moved(it),
            Record::Carried(it) => self.apply_carried(seq, it.id),
            Record::Trimmed(it) => self.apply_trimmed(it.below),
            Record::Reset(it) => self.apply_reset(seq, it),
            Record::SessionSet(it) => self.sessions.set(seq, it),
            Record::TurnNoted(it) => {
                let note = |session: &mut Session| {
                    session.note_turn(seq, &it.turn, &it.evidence, it.at);
                };
                self.sessions.change(&it.project, &it.session, seq, note);
            }
            Record::SessionGone(it) => self.apply_gone(seq, it),
            Record::PrimaryTaken(it) => self.sessions.take_primary(&it.project, &it.session),
            Record::ListenerSet(it) => self.apply_listener_set(it),
            Record::ListenerRemoved(it) => self.apply_listener_removed(it),
            Record::QuestionClaimed(it) => self.apply_claimed(it),
            Record::QuestionSettled(it) => self.apply_question_settled(it),
            Record::Emitted(it) => self.apply_emitted(it),
            Record::Returned(it) => self.apply_returned(it),
            Record::Escalated(it) => self.apply_escalated(it),
            Record::PreferencesSet(it) => self.apply_preferences(it),
        }
    }

    fn apply_notified(&mut self, seq: Seq, it: &Notified) {
        let route = &it.route;
        if let Some((name, state)) = &route.session {
            let what = format!("notify {}", route.kind);
            self.sessions.change(&route.project, name, seq, |session| {
                session.note_state(*state, seq, route.ts, &what);
                session.last = Some(seq);
            });
        }
        self.sources.note(seq, route);
        let size = u32::try_from(it.json.len()).unwrap_or(u32::MAX);
        self.inboxes.put(seq, route, size);
        self.apply_asked(seq, it);
    }

    /// Returns the number of the last applied record.
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Returns when the next [`Command::Tick`] is due.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let next = [
            self.inboxes.next_deadline(),
            self.sessions.next_deadline(),
            self.listeners.next_deadline(),
            self.questions.next_deadline(),
            self.next_receipt(),
        ];
        next.into_iter().flatten().min()
    }

    /// Returns an inbox, if it was ever written to and not closed since.
    pub fn inbox(&self, project: &ProjectName, name: &InboxName) -> Option<&Inbox> {
        self.inboxes.get(project, name)
    }

    /// Returns the inboxes of one project, or of all, sorted by name.
    pub fn inboxes(
        &self,
        project: Option<&ProjectName>,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Inbox)> {
        self.inboxes.iter(project)
    }

    /// Returns the inbox or live session of the project whose name is most similar to `name`; `None` if none is
    /// similar enough. Never `name` itself.
    pub fn nearest_inbox(&self, project: &ProjectName, name: &InboxName) -> Option<InboxName> {
        let sessions = self.sessions.iter(Some(project)).map(|(_, _, it)| it);
        let alive = sessions.filter(|it| it.is_alive());
        let called = alive.filter_map(|it| it.name()?.parse().ok());
        let called: Vec<InboxName> = called.collect();
        let known = self.inboxes.names(project).chain(&called);
        nearest::nearest(name, known).cloned()
    }

    /// Returns the last state that a session reported, and the record that reported it.
    pub fn session_state(
        &self,
        project: &ProjectName,
        name: &InboxName,
    ) -> Option<(SessionState, Seq)> {
        let key = self.sessions.resolve(project, name.as_str())?;
        let session = self.sessions.get(project, key)?;
        Some((session.state?, session.seq))
    }

    /// Returns when a session's present state began, and when it last reported that it works.
    pub fn session_times(
        &self,
        project: &ProjectName,
        name: &InboxName,
    ) -> Option<(Timestamp, Option<Timestamp>)> {
        let key = self.sessions.resolve(project, name.as_str())?;
        let session = self.sessions.get(project, key)?;
        Some((session.ts, session.worked))
    }

    /// Returns the project in which a session of this name was last active.
    pub fn session_project(&self, name: &InboxName) -> Option<&ProjectName> {
        self.sessions.project_of(name)
    }

    /// Returns the inboxes in which a notification is pending.
    pub fn places(&self, id: Seq) -> Vec<(ProjectName, InboxName)> {
        self.inboxes.places(id)
    }

    /// Whether the person marked this notification as seen.
    pub fn is_seen(&self, id: Seq) -> bool {
        self.seen.contains(id)
    }

    /// Returns the status of a notification in the log; `routed` is whether its route has targets.
    pub fn status(&self, id: Seq, routed: bool) -> Status {
        if self.inboxes.is_pending(id) {
            Status::Pending
        } else if !routed {
            Status::Recorded
        } else {
            self.outcomes.get(id).unwrap_or(Status::Acked)
        }
    }

    /// Returns the first number that retention left in the log.
    pub fn trimmed_below(&self) -> Seq {
        self.retention.below
    }

    /// Returns until when retention by age pauses, because the wall clock jumped.
    pub fn retention_paused_until(&self) -> Option<Timestamp> {
        self.retention.paused_until
    }
}
