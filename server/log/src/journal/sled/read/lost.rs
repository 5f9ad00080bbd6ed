//! Stored records that can no longer be read in either copy: readers skip them, and get the records around them and a `gap`
//! with the reason `corrupt`. Publishing continues.

use std::sync::Mutex;

use hub_core::sync;
use hub_protocol::Seq;

use crate::journal::block::Block;
use crate::journal::sled::store::{BlockStore, Probe};
use crate::journal::{JournalError, LostRange};

/// How many numbers are tried one by one after a broken block; more than the records of several pages.
const NEAR: u64 = 4096;

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

/// Returns the first record at or after `from` whose block can be read and begins with a whole record; `None` if
/// there is none up to `head`.
pub(crate) fn next_readable(
    store: &BlockStore,
    from: Seq,
    head: Seq,
) -> Result<Option<Seq>, JournalError> {
    let (mut at, mut step) = (from, 1);
    while at <= head {
        match store.probe(at)? {
            Probe::Nothing => return Ok(None),
            Probe::Part(first) => (at, step) = (first + 1, 1),
            Probe::Block(first) if step == 1 => return Ok(Some(first).filter(|it| *it <= head)),
            Probe::Block(_) => return boundary(store, at - step, at, head),
            Probe::Broken => {
                if at - from >= NEAR {
                    step *= 2;
                }
                at = if at == head {
                    head + 1
                } else {
                    head.min(at.saturating_add(step))
                };
            }
        }
    }
    Ok(None)
}

/// Returns the first readable record between `broken` and `good`, by binary search.
fn boundary(
    store: &BlockStore,
    mut broken: Seq,
    mut good: Seq,
    head: Seq,
) -> Result<Option<Seq>, JournalError> {
    while good - broken > 1 {
        let middle = broken + (good - broken) / 2;
        match store.probe(middle)? {
            Probe::Broken => broken = middle,
            _ => good = middle,
        }
    }
    next_readable(store, good, head)
}
