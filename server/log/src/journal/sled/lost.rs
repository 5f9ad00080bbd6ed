//! Stored records that can no longer be read in either copy: readers skip them, and get the records around them and a `gap`
//! with the reason `corrupt`. Publishing continues.

use std::sync::Mutex;

use hub_core::sync;
use hub_protocol::Seq;

use crate::journal::LostRange;
use crate::journal::block::Block;

/// The lost records found so far, in no order.
#[derive(Debug, Default)]
pub struct LostRanges(Mutex<Vec<LostRange>>);

impl LostRanges {
    pub(crate) fn at(&self, seq: Seq) -> Option<LostRange> {
        let ranges = sync::lock(&self.0);
        let around = |range: &&LostRange| (range.from..=range.to).contains(&seq);
        ranges.iter().find(around).copied()
    }

    pub(crate) fn all(&self) -> Vec<LostRange> {
        let ranges = sync::lock(&self.0);
        let mut all = ranges.clone();
        all.sort_by_key(|range| range.from);
        all
    }

    /// Adds the range of a block that stands for lost records.
    pub(crate) fn note_recorded(&self, block: &Block) {
        if block.is_lost() {
            self.note(LostRange {
                from: block.first,
                to: block.last(),
                recorded: true,
            });
        }
    }

    /// Adds a range of lost records. Returns whether it overlaps no known range.
    pub(crate) fn note(&self, new: LostRange) -> bool {
        let mut ranges = sync::lock(&self.0);
        let overlaps = |range: &&mut LostRange| range.from <= new.to && new.from <= range.to;
        if let Some(known) = ranges.iter_mut().find(overlaps) {
            known.from = known.from.min(new.from);
            known.to = known.to.max(new.to);
            known.recorded |= new.recorded;
            return false;
        }
        ranges.push(new);
        true
    }
}
