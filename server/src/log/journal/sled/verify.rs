//! Verifies that blocks contain the data that was written.

use std::sync::atomic::Ordering;

use hub_protocol::Seq;

use super::store::{self, Fault, Store};
use super::{Fences, Shared};
use crate::log::journal::block::{self, Block, Key, Tail, Walk};
use crate::log::journal::epoch::Anchor;
use crate::log::journal::{Hole, JournalError, block::stored_len};

/// The newest part of a journal, read at open.
#[derive(Debug, Default)]
pub(super) struct End {
    /// The end of the last complete commit.
    pub(super) tail: Tail,
    /// The keys of the blocks of an incomplete commit, which no client was told about.
    pub(super) incomplete: Vec<Key>,
    /// The chain after the record that the anchor names as synced; `None` if that record was not read.
    pub(super) chain_at_synced: Option<u32>,
    /// The size in bytes of the entries after that record.
    pub(super) bytes_since: u64,
}

/// Reads the journal from the record `from` to its end. `anchor` names the record whose chain is checked.
pub(super) fn read_end(
    store: &Store,
    from: Seq,
    anchor: &Anchor,
    fences: Fences,
) -> Result<End, JournalError> {
    let mut end = End::new(anchor);
    let mut walk = Walk::new(fences.chain);
    let mut begun = (end.tail.clone(), 0);
    let mut at = from;
    for block in store.blocks(store.start_of(from)?) {
        let (key, block) = block.map_err(|fault| store::corrupt(at, fault))?;
        if block.index == 0 {
            begun = (end.tail.clone(), end.bytes_since);
            end.incomplete.clear();
        }
        end.incomplete.push(key);
        let entries = walk
            .step(&block)
            .map_err(|defect| store::corrupt(at, defect.into()))?;
        at = block.last() + 1;
        end.note_synced(&block, anchor.synced, walk.is_within_record());
        let since = entries.iter().filter(|entry| entry.seq > anchor.synced);
        end.bytes_since += since.map(|entry| stored_len(entry) as u64).sum::<u64>();
        end.tail = end.tail.after(std::slice::from_ref(&block), block.last());
    }
    if walk.is_complete() {
        end.incomplete.clear();
    } else {
        (end.tail, end.bytes_since) = begun;
    }
    Ok(end)
}

impl End {
    /// Returns the end of a journal without blocks.
    pub(super) fn new(anchor: &Anchor) -> Self {
        let tail = Tail {
            head: anchor.first - 1,
            chain: anchor.first_chain,
            ..Tail::default()
        };
        Self {
            chain_at_synced: (anchor.synced < anchor.first).then_some(anchor.chain),
            tail,
            ..Self::default()
        }
    }

    fn note_synced(&mut self, block: &Block, synced: Seq, cut: bool) {
        if (block.first..=block.last()).contains(&synced) && !cut {
            let whole = || block.chain_at(synced);
            self.chain_at_synced = if block.part > 0 {
                Some(block.chain_after())
            } else {
                whole()
            };
        }
    }
}

/// Checks that the journal begins at the record that `anchor` names. Returns the keys left over from an interrupted
/// trim.
pub(super) fn check_begin(store: &Store, anchor: &Anchor) -> Result<Vec<Key>, JournalError> {
    let fault = |fault| store::corrupt(anchor.first, fault);
    let mut leftovers = Vec::new();
    for key in store.keys(block::key(0, 0)) {
        let key = key.map_err(fault)?;
        if block::seq_of(key) >= anchor.first {
            break;
        }
        leftovers.push(key);
    }
    let first = block::key(anchor.first, 0);
    let found = store
        .blocks(first)
        .next()
        .ok_or_else(|| fault(Fault::missing()))?;
    let (key, block) = found.map_err(fault)?;
    if key != first || block.chain != anchor.first_chain {
        return Err(fault(Fault::missing()));
    }
    Ok(leftovers)
}

impl Shared {
    /// Verifies `count` blocks from the record `from` on. Returns the record at which to continue. Lost records are
    /// recorded and skipped.
    pub(super) fn scrub_some(&self, from: Seq, count: usize) -> Result<Seq, JournalError> {
        let (earliest, head) = (
            self.earliest.load(Ordering::Acquire),
            self.head.load(Ordering::Acquire),
        );
        let from = from.max(earliest);
        if from > head {
            return Ok(head + 1);
        }
        let found = self.with_store(|store| match self.scrub_blocks(store, from, head, count) {
            Err(JournalError::Corrupt { at, reason }) => self.step_over(store, at, head, &reason),
            found => found,
        });
        // The records may have been trimmed meanwhile; then they are not missing.
        if found.is_err() && self.earliest.load(Ordering::Acquire) != earliest {
            return Ok(self.earliest.load(Ordering::Acquire));
        }
        found
    }

    fn scrub_blocks(
        &self,
        store: &Store,
        from: Seq,
        head: Seq,
        count: usize,
    ) -> Result<Seq, JournalError> {
        let mut walk = Walk::new(self.options.fences.chain);
        let mut at = from;
        for (number, block) in store.blocks(store.start_of(from)?).enumerate() {
            let (_, block) = block.map_err(|fault| store::corrupt(at, fault))?;
            walk.step(&block)
                .map_err(|defect| store::corrupt(at, defect.into()))?;
            if block.is_hole() {
                self.holes.note(Hole {
                    from: block.first,
                    to: block.last(),
                    settled: true,
                });
            }
            if block.last() >= head && !walk.is_within_record() {
                return Ok(head + 1);
            }
            if !walk.is_within_record() {
                at = block.last() + 1;
            }
            // The next round verifies the last block again, so that its link to the next block is checked too.
            if number >= count && !walk.is_within_record() {
                return Ok(block.last());
            }
        }
        Err(store::corrupt(at, Fault::missing()))
    }
}
