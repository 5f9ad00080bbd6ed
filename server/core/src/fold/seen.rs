//! The person's seen marks: one set for the whole hub, without effect on inboxes.

use hub_protocol::{Seq, Timestamp};

use super::State;
use super::ranges::Ranges;
use super::transaction::Transaction;
use crate::command::Refusal;
use crate::record::{Record, Seen};

impl Transaction<'_> {
    /// Marks as read what the person need not read any more.
    pub(super) fn mark_read(&mut self, id: Seq) {
        if self.state.is_seen(id) {
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

impl State {
    /// Records only the marks that change, so that setting them back undoes the command exactly.
    pub(super) fn decide_seen(
        &self,
        ids: &[Seq],
        ranges: &[(Seq, Seq)],
        seen: bool,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        self.check_ids(ids)?;
        let ends: Vec<Seq> = ranges.iter().map(|range| range.1).collect();
        self.check_ids(&ends)?;
        let mut chosen: Ranges = ids.iter().copied().collect();
        for &(first, last) in ranges {
            chosen.set(first.max(1), last, true);
        }
        let ranges: Vec<(Seq, Seq)> = chosen
            .ranges()
            .flat_map(|(first, last)| self.seen.parts(first, last, !seen))
            .collect();
        let single = ranges.iter().all(|(first, last)| first == last);
        let (ids, ranges) = if single {
            (ranges.into_iter().map(|(id, _)| id).collect(), Vec::new())
        } else {
            (Vec::new(), ranges)
        };
        if ids.is_empty() && ranges.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Record::Seen(Seen {
            ids,
            up_to: None,
            ranges,
            seen,
            at: now,
        })])
    }

    pub(super) fn apply_seen(&mut self, record: &Seen) {
        let all = record.up_to.map(|up_to| (1, up_to));
        let ids = record.ids.iter().map(|&id| (id, id));
        for (first, last) in all
            .into_iter()
            .chain(ids)
            .chain(record.ranges.iter().copied())
        {
            self.seen.set(first, last, record.seen);
        }
    }

    /// The numbers from 1 to `up_to` whose mark is not `seen`, as ranges. Not each number is a notification's.
    pub fn seen_differences(&self, up_to: Seq, seen: bool) -> Vec<(Seq, Seq)> {
        self.seen.parts(1, up_to, !seen)
    }
}
