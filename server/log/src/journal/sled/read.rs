//! Reads records from the store.

use hub_protocol::Seq;

use super::lost::LostRanges;
use super::store::{self, BlockStore, ReadError};
use crate::journal::JournalError;
use crate::journal::block;
use crate::journal::disk::Run;

/// How many numbers are tried one by one behind a page that cannot be read; more than the records of several pages.
const NEAR: u64 = 4096;

/// Returns the first record of `store` in a range that can be read; `None` if there is none. It may pass over readable records
/// between unreadable ones if these are more than [`NEAR`].
pub(super) fn next_readable(
    store: &BlockStore,
    lost: &LostRanges,
    (from, to): (Seq, Seq),
) -> Result<Option<Seq>, JournalError> {
    let readable_at = |at| match run(store, lost, (at, to), 0) {
        Ok(run) => Ok(Some(run.entries[0].seq)),
        Err(JournalError::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    if from > to {
        return Ok(None);
    }
    let (mut unreadable, mut at, mut step) = (from, from, 1);
    while at <= to && readable_at(at)?.is_none() {
        unreadable = at;
        at = match store.keys(block::key(at + 1, 0)).next() {
            None => return Ok(None),
            Some(Ok(key)) => block::seq_of(key),
            Some(Err(_)) => {
                if at - from >= NEAR {
                    step *= 2;
                }
                at.saturating_add(step)
            }
        };
    }
    // A long step may have passed over readable records.
    let mut readable = at.min(to);
    while readable > unreadable + 1 {
        let middle = unreadable + (readable - unreadable) / 2;
        if readable_at(middle)?.is_some() {
            readable = middle;
        } else {
            unreadable = middle;
        }
    }
    readable_at(readable)
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
