//! Retention: drops the log's prefix. Pending notifications and open questions in it are written again at the head, or
//! evicted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use hub_protocol::{QuestionState, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::State;
use super::questions::settled_question;
use super::status::settled;
use crate::record::{ClockMoved, Record, Rewritten, SettleReason, Trimmed};

/// How long retention by age pauses after the wall clock jumped, in milliseconds.
const PAUSE_MS: i64 = 24 * 60 * 60 * 1000;

/// The range of the log that is kept, and the new places of rewritten notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// The first number that the log keeps.
    below: Seq,
    /// For each rewritten notification, the record that holds its JSON.
    #[serde(rename = "carried")]
    rewritten: BTreeMap<Seq, Seq>,
    /// Until when retention by age pauses.
    paused_until: Option<Timestamp>,
}

impl Retention {
    /// Returns the first number that retention left in the log.
    pub fn below(&self) -> Seq {
        self.below
    }

    /// Returns until when retention by age pauses, because the wall clock jumped.
    pub fn paused_until(&self) -> Option<Timestamp> {
        self.paused_until
    }

    /// Whether retention by age pauses.
    pub fn is_paused(&self, now: Timestamp) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    fn location(&self, id: Seq) -> Seq {
        self.rewritten.get(&id).copied().unwrap_or(id)
    }
}

impl State {
    /// Returns the record that holds the JSON of a pending notification or a question: its own, or the last record that
    /// rewritten it.
    pub fn location(&self, id: Seq) -> Option<Seq> {
        let location = self.retention.location(id);
        (self.is_needed(id) && location >= self.retention.below).then_some(location)
    }

    /// Returns the pending notifications and open questions whose JSON lies below `seq`, each with its record.
    /// Retention must carry them.
    pub fn needed_below(&self, seq: Seq) -> Vec<(Seq, Seq)> {
        let pending = self.inboxes.pending_below(seq);
        let held: BTreeSet<Seq> = pending.chain(self.questions.open_below(seq)).collect();
        let located = held
            .into_iter()
            .filter_map(|id| Some((id, self.location(id)?)));
        located.filter(|(_, location)| *location < seq).collect()
    }

    /// Whether the JSON of a notification is needed after its block is dropped. That includes settled questions, which
    /// are shown with their answers.
    fn is_needed(&self, id: Seq) -> bool {
        self.inboxes.is_pending(id) || self.questions.get(id).is_some()
    }

    /// Forgets the place of a settled notification's JSON, unless it is still needed.
    pub(super) fn forget_location(&mut self, id: Seq) {
        if !self.is_needed(id) {
            self.retention.rewritten.remove(&id);
        }
    }

    /// [`State::forget_location`] for all notifications.
    pub(super) fn forget_locations(&mut self) {
        let (inboxes, questions) = (&self.inboxes, &self.questions);
        let is_needed = |id: Seq| inboxes.is_pending(id) || questions.get(id).is_some();
        self.retention.rewritten.retain(|id, _| is_needed(*id));
    }

    pub(super) fn decide_trim(
        &self,
        below: Seq,
        rewritten: &[(Seq, Bytes)],
        now: Timestamp,
    ) -> Vec<Record> {
        let below = below.min(self.head + 1);
        if below <= self.retention.below {
            return Vec::new();
        }
        let rewritten: HashMap<Seq, &Bytes> =
            rewritten.iter().map(|(id, json)| (*id, json)).collect();
        let mut records = Vec::new();
        let mut evicted = Vec::new();
        for (id, _) in self.needed_below(below) {
            match rewritten.get(&id) {
                Some(&json) => records.push(Record::Rewritten(Rewritten {
                    id,
                    json: json.clone(),
                })),
                None => evicted.push(id),
            }
        }
        // A question without its text can no longer be answered.
        let unread = |id: &&Seq| self.questions.demand_open(**id).is_ok();
        let expired = evicted.iter().filter(unread);
        let expired =
            expired.map(|id| settled_question(*id, QuestionState::Expired, None, None, now));
        records.extend(expired);
        evicted.retain(|id| self.inboxes.is_pending(*id));
        records.extend(settled(evicted, None, SettleReason::Evicted, None, now));
        records.push(Record::Trimmed(Trimmed { below, at: now }));
        records
    }

    pub(super) fn apply_rewritten(&mut self, seq: Seq, id: Seq) {
        if self.is_needed(id) {
            self.retention.rewritten.insert(id, seq);
        }
    }

    pub(super) fn apply_trimmed(&mut self, below: Seq) {
        self.retention.below = self.retention.below.max(below);
        let retention = &self.retention;
        self.questions.trim(below, |id| retention.location(id));
        self.forget_locations();
        let pending = self.inboxes.pending_below(below);
        let kept: Vec<Seq> = pending.chain(self.questions.below(below)).collect();
        self.outcomes.trim(below, &kept);
        self.seen.trim(below, &kept);
        self.hidden.trim(below);
        self.losses.trim(below);
    }

    pub(super) fn apply_clock_moved(&mut self, record: &ClockMoved) {
        self.inboxes.shift(record.delta_ms);
        self.keys.shift(record.delta_ms);
        self.sessions.shift(record.delta_ms);
        self.listeners.shift(record.delta_ms);
        self.questions.shift(record.delta_ms);
        self.rules.shift(record.delta_ms);
        let mutes = self.preferences.mutes.iter_mut();
        for until in mutes.filter_map(|it| it.until.as_mut()) {
            *until = until.plus_millis(record.delta_ms);
        }
        self.retention.paused_until = Some(record.at.plus_millis(PAUSE_MS));
    }
}
