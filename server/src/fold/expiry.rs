//! Expiry: a pending notification is no longer offered after its expiry time.

use std::collections::BTreeSet;

use hub_protocol::{Seq, Timestamp};

use super::settle::settled;
use super::{Leased, State};
use crate::core::record::{How, Record};

/// The most that one tick expires. The next deadline has then already passed, so the clock ticks again at once.
const AT_ONCE: usize = 10_000;

/// The expiry times of pending notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Deadlines(BTreeSet<(Timestamp, Seq)>);

impl Deadlines {
    pub(super) fn insert(&mut self, at: Timestamp, seq: Seq) {
        self.0.insert((at, seq));
    }

    pub(super) fn remove(&mut self, at: Timestamp, seq: Seq) {
        self.0.remove(&(at, seq));
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.0.first().map(|&(at, _)| at)
    }

    pub(super) fn until(&self, now: Timestamp) -> impl Iterator<Item = Seq> {
        self.0.range(..=(now, Seq::MAX)).map(|&(_, seq)| seq)
    }

    pub(super) fn shift(&mut self, delta_ms: i64) {
        let old = std::mem::take(&mut self.0);
        let moved = |(at, seq): (Timestamp, Seq)| (at.plus_millis(delta_ms), seq);
        self.0 = old.into_iter().map(moved).collect();
    }
}

impl State {
    pub(super) fn decide_tick(&self, now: Timestamp, leased: &Leased<'_>) -> Vec<Record> {
        let mut records = self.due_sessions(now, leased);
        records.extend(self.expired(now));
        records
    }

    /// Returns the records of expired notifications and questions. None of them is a notification, so a full disk
    /// accepts them.
    pub fn expired(&self, now: Timestamp) -> Vec<Record> {
        let due = self.inboxes.due(now).take(AT_ONCE).collect();
        let mut records = settled(due, None, How::Expired, None, now);
        records.extend(self.expired_questions(now));
        records
    }
}
