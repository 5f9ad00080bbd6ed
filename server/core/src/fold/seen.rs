//! The person's seen marks: one set for the whole hub, without effect on inboxes.

use hub_protocol::{Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::ranges::Ranges;
use super::transaction::Transaction;
use crate::record::{Record, Seen};

/// The notifications that the person has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeenMarks(Ranges);

impl SeenMarks {
    /// Whether the person marked this notification as seen.
    pub fn contains(&self, id: Seq) -> bool {
        self.0.contains(id)
    }

    /// The numbers from 1 to `up_to` whose mark is not `seen`, as ranges. Not each number is a notification's.
    pub fn differences(&self, up_to: Seq, seen: bool) -> Vec<(Seq, Seq)> {
        self.0.parts(1, up_to, !seen)
    }

    /// Records only the marks that change, so that setting them back undoes the command exactly.
    pub(super) fn decide(
        &self,
        ids: &[Seq],
        ranges: &[(Seq, Seq)],
        seen: bool,
        now: Timestamp,
    ) -> Vec<Record> {
        let mut chosen: Ranges = ids.iter().copied().collect();
        for &(first, last) in ranges {
            chosen.set(first.max(1), last, true);
        }
        let ranges: Vec<(Seq, Seq)> = chosen
            .ranges()
            .flat_map(|(first, last)| self.0.parts(first, last, !seen))
            .collect();
        if ranges.is_empty() {
            return Vec::new();
        }
        let single = ranges.iter().all(|(first, last)| first == last);
        let (ids, ranges) = if single {
            (ranges.into_iter().map(|(id, _)| id).collect(), Vec::new())
        } else {
            (Vec::new(), ranges)
        };
        vec![Record::Seen(Seen {
            ids,
            up_to: None,
            ranges,
            seen,
            at: now,
        })]
    }

    pub(super) fn insert(&mut self, id: Seq) {
        self.0.insert(id);
    }

    pub(super) fn note(&mut self, record: &Seen) {
        let all = record.up_to.map(|up_to| (1, up_to));
        let ids = record.ids.iter().map(|&id| (id, id));
        for (first, last) in all
            .into_iter()
            .chain(ids)
            .chain(record.ranges.iter().copied())
        {
            self.0.set(first, last, record.seen);
        }
    }

    /// Forgets notifications below `below`, which are no longer in the log, except `kept`.
    pub(super) fn trim(&mut self, below: Seq, kept: &[Seq]) {
        self.0.trim(below, kept);
    }
}

impl Transaction<'_> {
    /// Marks as read what the person need not read any more.
    pub(super) fn mark_read(&mut self, id: Seq) {
        if self.state.seen.contains(id) {
            return;
        }
        self.also([Record::Seen(Seen {
            ids: vec![id],
            up_to: None,
            ranges: Vec::new(),
            seen: true,
            at: self.now,
        })]);
    }
}
