//! Reads entries from the store. Records that cannot be read are skipped, see [`lost`].

use hub_core::sync;
use hub_protocol::Seq;

use super::SledShared;
use super::store::{self, BlockStore, ReadError};
use crate::journal::disk::Run;
use crate::journal::{Entry, JournalError};

pub(super) mod lost;

use lost::LostRanges;

impl SledShared {
    /// Returns entries from `from` on, see [`crate::journal::Journal::read`].
    pub(super) fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let (mut at, head) = (from, self.head());
        loop {
            let earliest = self.earliest();
            at = at.max(earliest);
            if at > head {
                return Ok(Vec::new());
            }
            match self.run(at, head, max_bytes) {
                Ok(run) => return Ok(run.entries),
                // The records may have been trimmed meanwhile; then read again.
                Err(_) if self.earliest() != earliest => {}
                Err(JournalError::Corrupt { at: broken, reason }) => {
                    at = self.with_store(|store| self.step_over(store, broken, head, &reason))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the records from `from` to `to`, see [`crate::journal::disk::Store::run`].
    pub(super) fn run(&self, from: Seq, to: Seq, max_bytes: usize) -> Result<Run, JournalError> {
        if !self.is_there() {
            return Err(store::corrupt(from, ReadError::missing()));
        }
        let chained = self.options.checks.chain;
        self.with_store(|store| run_in(store, &self.lost_ranges, chained, (from, to), max_bytes))
    }

    /// Returns the first record from `from` to `to` that can be read; `None` if there is none.
    pub(super) fn next_readable(&self, from: Seq, to: Seq) -> Result<Option<Seq>, JournalError> {
        if !self.is_there() {
            return Ok(None);
        }
        let chained = self.options.checks.chain;
        self.with_store(|store| next_in(store, &self.lost_ranges, chained, (from, to)))
    }

    /// Whether there is a store. One that a full disk closed is there.
    fn is_there(&self) -> bool {
        // A renewal holds the store, so its place says what is there after it.
        let store = sync::read(&self.store);
        store.is_some() || sync::lock(&self.place).is_some()
    }
}

/// Returns the first record of `store` in a range that can be read; `None` if there is none.
pub(super) fn next_in(
    store: &BlockStore,
    lost_ranges: &LostRanges,
    chained: bool,
    (from, to): (Seq, Seq),
) -> Result<Option<Seq>, JournalError> {
    let mut next = Some(from);
    while let Some(at) = next {
        if let Ok(run) = run_in(store, lost_ranges, chained, (at, to), 0) {
            return Ok(Some(run.entries[0].seq));
        }
        // The rest of its block cannot be read either; a record whose first block can be read may lack a later one.
        next = lost::next_readable(store, at + 1, to)?;
    }
    Ok(None)
}

/// Returns the records of `store` in a range, up to about `max_bytes` but at least one.
pub(super) fn run_in(
    store: &BlockStore,
    lost_ranges: &LostRanges,
    chained: bool,
    (from, to): (Seq, Seq),
    max_bytes: usize,
) -> Result<Run, JournalError> {
    let (mut run, mut size, mut at) = (None::<Run>, 0, from);
    let mut before = 0;
    for checked in store.checked_blocks(from, chained)? {
        let checked = match checked {
            Err(_) if run.is_some() => break,
            checked => checked?,
        };
        let block = &checked.block;
        lost_ranges.note_recorded(block);
        if block.part == 0 {
            let is_within = from > block.first && !block.is_lost();
            let chain = is_within.then(|| block.chain_at(from - 1)).flatten();
            before = chain.unwrap_or(block.chain);
            if run.is_some() && (block.is_lost() || block.skips) {
                break;
            }
        }
        let entries = checked.entries.into_iter();
        for entry in entries.filter(|entry| (from..=to).contains(&entry.seq)) {
            let run = run.get_or_insert_with(|| Run::empty(before));
            size += entry.payload.len();
            if size > max_bytes && !run.entries.is_empty() {
                return run_or_missing(Some(std::mem::replace(run, Run::empty(0))), at);
            }
            run.entries.push(entry);
        }
        at = checked.next;
        // Stop at the end: a commit may be in progress above it, and its blocks need not chain yet. A block may hold only
        // a part of a record.
        if (size >= max_bytes && run.is_some()) || (checked.is_whole && checked.block.last() >= to)
        {
            break;
        }
    }
    run_or_missing(run, at)
}

fn run_or_missing(run: Option<Run>, at: Seq) -> Result<Run, JournalError> {
    run.ok_or_else(|| store::corrupt(at, ReadError::missing()))
}
