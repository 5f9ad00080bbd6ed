//! Reads records from the store.

use hub_protocol::Seq;

use super::store::{self, BlockStore, ReadError};
use crate::journal::JournalError;
use crate::journal::disk::Run;

pub(super) mod lost;

use lost::LostRanges;

/// Returns the first record of `store` in a range that can be read; `None` if there is none.
pub(super) fn next_readable(
    store: &BlockStore,
    lost: &LostRanges,
    (from, to): (Seq, Seq),
) -> Result<Option<Seq>, JournalError> {
    let mut next = Some(from);
    while let Some(at) = next {
        if let Ok(run) = run(store, lost, (at, to), 0) {
            return Ok(Some(run.entries[0].seq));
        }
        // The rest of its block cannot be read either; a record whose first block can be read may lack a later one.
        next = lost::next_readable(store, at + 1, to)?;
    }
    Ok(None)
}

/// Returns the records of `store` in a range, up to about `max_bytes` but at least one.
pub(super) fn run(
    store: &BlockStore,
    lost: &LostRanges,
    (from, to): (Seq, Seq),
    max_bytes: usize,
) -> Result<Run, JournalError> {
    let (mut run, mut size, mut at) = (None::<Run>, 0, from);
    let mut before = 0;
    for checked in store.checked_blocks(from)? {
        let checked = match checked {
            Err(_) if run.is_some() => break,
            checked => checked?,
        };
        let block = &checked.block;
        lost.note_recorded(block);
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
