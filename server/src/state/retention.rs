//! Retention: the log loses its prefix; what is pending there is carried to the head, or evicted.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use hub_protocol::{Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::State;
use super::settle::settled;
use crate::record::{Carried, ClockMoved, How, Record, Trimmed};

/// How long age says nothing after the wall clock jumped, in milliseconds.
const PAUSE_MS: i64 = 24 * 60 * 60 * 1000;

/// What of the log is kept, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Retention {
    /// The first number that is kept.
    pub(super) below: Seq,
    /// Where the JSON of carried notifications is.
    carried: BTreeMap<Seq, Seq>,
    /// Until when age retention pauses.
    pub(super) paused_until: Option<Timestamp>,
}

impl Retention {
    pub(super) fn location(&self, id: Seq) -> Seq {
        self.carried.get(&id).copied().unwrap_or(id)
    }

    pub(super) fn forget(&mut self, id: Seq) {
        self.carried.remove(&id);
    }
}

impl State {
    pub(super) fn decide_trim(
        &self,
        below: Seq,
        carried: &[(Seq, Bytes)],
        now: Timestamp,
    ) -> Vec<Record> {
        let below = below.min(self.head + 1);
        if below <= self.retention.below {
            return Vec::new();
        }
        let carried: HashMap<Seq, &Bytes> = carried.iter().map(|(id, json)| (*id, json)).collect();
        let mut records = Vec::new();
        let mut evicted = Vec::new();
        for (id, _) in self.pending_below(below) {
            match carried.get(&id) {
                Some(&json) => records.push(Record::Carried(Carried {
                    id,
                    json: json.clone(),
                })),
                None => evicted.push(id),
            }
        }
        records.extend(settled(evicted, None, How::Evicted, None, now));
        records.push(Record::Trimmed(Trimmed { below, at: now }));
        records
    }

    pub(super) fn apply_carried(&mut self, seq: Seq, id: Seq) {
        if self.inboxes.is_pending(id) {
            self.retention.carried.insert(id, seq);
        }
    }

    pub(super) fn apply_trimmed(&mut self, below: Seq) {
        self.retention.below = self.retention.below.max(below);
        let kept: Vec<Seq> = self.inboxes.pending_below(below).collect();
        self.outcomes.trim(below, &kept);
        self.seen.trim(below, &kept);
        self.questions.trim(below);
        self.hidden.trim(below);
    }

    pub(super) fn apply_clock_moved(&mut self, record: &ClockMoved) {
        self.inboxes.shift(record.delta_ms);
        self.keys.shift(record.delta_ms);
        self.sessions.shift(record.delta_ms);
        self.listeners.shift(record.delta_ms);
        self.questions.shift(record.delta_ms);
        self.retention.paused_until = Some(record.at.plus_millis(PAUSE_MS));
    }
}
