//! The fold: everything the hub knows, from the log alone.
//!
//! [`State::decide`] turns a command into records, [`State::apply`] takes a record in. Both are pure: no I/O, no clock.
//! Serialised, a state holds facts only; its indexes are made again when it is read, so equal folds have equal bytes.

use hub_protocol::{InboxName, ProjectName, Seq, SessionState, Timestamp};
use serde::{Deserialize, Serialize};

use crate::command::{Command, Decision, Refusal};
use crate::record::{ClockMoved, How, Record};

mod collapse;
mod expiry;
mod idempotency;
mod inbox;
mod inboxes;
mod nearest;
mod notify;
mod outcome;
mod ranges;
mod retention;
mod seen;
mod session;
mod settle;

pub use inbox::{Inbox, Item};
pub use outcome::Status;

/// Whether a reader holds this item of this inbox now. Leases are presence, so they come from outside.
pub type Leased<'a> = dyn Fn(&ProjectName, &InboxName, Seq) -> bool + 'a;

/// Everything the hub knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    head: Seq,
    inboxes: inboxes::Inboxes,
    keys: idempotency::Keys,
    sessions: session::Sessions,
    seen: ranges::Ranges,
    outcomes: outcome::Outcomes,
    retention: retention::Retention,
}

impl State {
    /// What `command` means now: the records to commit, numbered from `head() + 1` in order, or why not. The records
    /// of a `Notify` begin with one `Notified` for each draft.
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
            Command::Ack { project, items, by } => {
                self.decide_ack(project, items, by.as_deref(), now)?
            }
            Command::Withdraw { ids } => self.decide_withdraw(ids, now)?,
            Command::WithdrawKey { project, from, key } => {
                self.decide_withdraw_key(project, from.as_ref(), key, now)
            }
            Command::Seen { ids, up_to, seen } => self.decide_seen(ids, *up_to, *seen, now)?,
            Command::CloseInbox { project, inbox } => self.decide_close(project, inbox, now)?,
            Command::Reset { project } => self.decide_reset(project, now),
            Command::Trim { below, carried } => self.decide_trim(*below, carried, now),
            Command::Tick => self.decide_tick(now),
            Command::ClockMoved { delta_ms } => vec![Record::ClockMoved(ClockMoved {
                delta_ms: *delta_ms,
                at: now,
            })],
        };
        Ok(Decision::Records(records))
    }

    /// Takes in the record with the number `seq`, which is `head() + 1`. Cannot fail.
    pub fn apply(&mut self, seq: Seq, record: &Record) {
        self.head = seq;
        match record {
            Record::Notified(it) => {
                if let Some((name, state)) = &it.route.session {
                    let known = session::Known::new(*state, seq, it.route.ts);
                    self.sessions.note(&it.route.project, name, known);
                }
                let size = u32::try_from(it.json.len()).unwrap_or(u32::MAX);
                self.inboxes.put(seq, &it.route, size);
            }
            Record::Settled(it) => self.apply_settled(it),
            Record::Seen(it) => self.apply_seen(it),
            Record::InboxClosed(it) => {
                for id in self.inboxes.close(&it.project, &it.inbox) {
                    self.settle(id, How::Dropped);
                }
            }
            Record::KeyUsed(it) => self.keys.note(seq, it),
            Record::ClockMoved(it) => self.apply_clock_moved(it),
            Record::Carried(it) => self.apply_carried(seq, it.id),
            Record::Trimmed(it) => self.apply_trimmed(it.below),
            Record::Reset(it) => {
                for id in self.inboxes.close_all(&it.project) {
                    self.settle(id, How::Dropped);
                }
                self.sessions.forget_all(&it.project);
            }
        }
    }

    /// The last record taken in.
    pub fn head(&self) -> Seq {
        self.head
    }

    /// When [`Command::Tick`] has something to do next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.inboxes.next_deadline()
    }

    /// An inbox that was ever written to and not closed since.
    pub fn inbox(&self, project: &ProjectName, name: &InboxName) -> Option<&Inbox> {
        self.inboxes.get(project, name)
    }

    /// The inboxes of one project, or all, sorted by name.
    pub fn inboxes(
        &self,
        project: Option<&ProjectName>,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Inbox)> {
        self.inboxes.iter(project)
    }

    /// The inbox of the project whose name is nearest to `name`, if any is near; not `name` itself.
    pub fn nearest_inbox(&self, project: &ProjectName, name: &InboxName) -> Option<&InboxName> {
        self.inboxes.nearest(project, name)
    }

    /// The last state that a session said it was in, and the notification that said so.
    pub fn session_state(
        &self,
        project: &ProjectName,
        name: &InboxName,
    ) -> Option<(SessionState, Seq)> {
        self.sessions
            .get(project, name)
            .map(|known| (known.state, known.seq))
    }

    /// When a session said its last state, and when it last said that it works.
    pub fn session_times(
        &self,
        project: &ProjectName,
        name: &InboxName,
    ) -> Option<(Timestamp, Option<Timestamp>)> {
        self.sessions
            .get(project, name)
            .map(|known| (known.ts, known.worked))
    }

    /// The project in which a session of this name was last heard of.
    pub fn session_project(&self, name: &InboxName) -> Option<&ProjectName> {
        self.sessions.project_of(name)
    }

    /// Whether the person marked this notification.
    pub fn is_seen(&self, id: Seq) -> bool {
        self.seen.contains(id)
    }

    /// Where a notification of the log stands; `routed` says whether its route has targets.
    pub fn status(&self, id: Seq, routed: bool) -> Status {
        if self.inboxes.is_pending(id) {
            Status::Pending
        } else if !routed {
            Status::Recorded
        } else {
            self.outcomes.get(id).unwrap_or(Status::Acked)
        }
    }

    /// The record that holds the JSON of a pending notification: its own, or the one it was last carried to.
    pub fn location(&self, id: Seq) -> Option<Seq> {
        self.inboxes
            .is_pending(id)
            .then(|| self.retention.location(id))
    }

    /// Pending notifications whose JSON lies below `seq`, and where: what retention has to carry.
    pub fn pending_below(&self, seq: Seq) -> Vec<(Seq, Seq)> {
        self.inboxes
            .pending_below(seq)
            .map(|id| (id, self.retention.location(id)))
            .filter(|(_, location)| *location < seq)
            .collect()
    }

    /// The first number that retention left in the log.
    pub fn trimmed_below(&self) -> Seq {
        self.retention.below
    }

    /// Until when age says nothing about what to drop, because the wall clock jumped.
    pub fn retention_paused_until(&self) -> Option<Timestamp> {
        self.retention.paused_until
    }
}
