//! The tick: everything that is due by time alone, without any request.

use hub_protocol::Timestamp;

use super::status::settled;
use super::transaction::Transaction;
use super::{Leased, State};
use crate::record::{Record, SettleReason};

/// The most that one tick expires. The next deadline has then already passed, so the clock ticks again at once.
const MAX_EXPIRED: usize = 10_000;

impl State {
    /// Returns the records of stops with long background work, model failures without recovery, inboxes of ended
    /// sessions, missed deadlines of listeners, deliveries without proof, and expired notifications and questions.
    pub(super) fn decide_tick(&self, now: Timestamp, leased: &Leased<'_>) -> Vec<Record> {
        let mut transaction = Transaction::new(self, now, leased);
        transaction.due_sessions();
        transaction.due_listeners();
        transaction.due_deliveries();
        let mut records = transaction.finish();
        records.extend(self.expired(now));
        records
    }

    /// Returns the records of expired notifications and questions. None of them is a notification, so a full disk
    /// accepts them.
    pub fn expired(&self, now: Timestamp) -> Vec<Record> {
        let due = self.inboxes.due(now).take(MAX_EXPIRED).collect();
        let mut records = settled(due, None, SettleReason::Expired, None, now);
        records.extend(self.questions.expired(now));
        records
    }

    /// Returns when the next [`crate::command::Command::Tick`] is due.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let next = [
            self.inboxes.next_deadline(),
            self.sessions.next_deadline(),
            self.listeners.next_deadline(),
            self.questions.next_deadline(),
            self.next_delivery(),
            self.rules.next_deadline(),
        ];
        next.into_iter().flatten().min()
    }
}
