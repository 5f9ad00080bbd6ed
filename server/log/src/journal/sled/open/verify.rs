//! Verifies at open that the store begins where the epoch file says, and that its newest part chains.

use hub_protocol::Seq;

use crate::journal::block::{self, BlockKey, Tail};
use crate::journal::epoch::Anchor;
use crate::journal::sled::store::{self, BlockStore, CheckedBlock, ReadError};
use crate::journal::sled::{Files, OpenError};
use crate::journal::{JournalError, snapshot};

/// Drops the blocks of unfinished commits and trims. Returns the end of the last complete commit.
pub(crate) fn check(store: &BlockStore, anchor: &Anchor, files: &Files) -> Result<Tail, OpenError> {
    let first = store.first();
    let first = first.map_err(|fault| store::corrupt(anchor.first, fault))?;
    if first.is_none() {
        return Ok(begin_of(anchor));
    }
    let leftovers = check_begin(store, anchor)?;
    let folded = snapshot::newest_seq(&*files.disk, &files.snapshots());
    let (tail, incomplete) = find_tail(store, folded.min(anchor.synced), anchor)?;
    drop_blocks(store, &leftovers)?;
    drop_blocks(store, &incomplete)?;
    Ok(tail)
}

/// Returns the end of a store without blocks.
pub(crate) fn begin_of(anchor: &Anchor) -> Tail {
    Tail {
        head: anchor.first - 1,
        chain: anchor.first_chain,
        ..Tail::default()
    }
}

fn drop_blocks(store: &BlockStore, keys: &[BlockKey]) -> Result<(), JournalError> {
    if !keys.is_empty() {
        let first = block::seq_of(keys[0]);
        tracing::info!(
            blocks = keys.len(),
            first,
            "unfinished work of the last run is dropped"
        );
    }
    store.remove_all(keys)
}

/// Reads the store from the record `from` to its end, or from the last complete commit if that is earlier: the copier may be
/// far behind the newest snapshot. Returns the end of the last complete commit, and the keys of the blocks of an incomplete
/// one, which no client was told about.
fn find_tail(
    store: &BlockStore,
    from: Seq,
    anchor: &Anchor,
) -> Result<(Tail, Vec<BlockKey>), JournalError> {
    let mut from = from.max(anchor.first);
    loop {
        let (tail, incomplete) = scan_tail(store, from, anchor)?;
        let first = incomplete.first().map(|key| block::seq_of(*key));
        match first {
            Some(first) if tail.head < anchor.first && first > anchor.first => from = first - 1,
            _ => return Ok((tail, incomplete)),
        }
    }
}

fn scan_tail(
    store: &BlockStore,
    from: Seq,
    anchor: &Anchor,
) -> Result<(Tail, Vec<BlockKey>), JournalError> {
    let mut tail = begin_of(anchor);
    let (mut before_commit, mut incomplete) = (tail.clone(), Vec::new());
    let mut is_complete = true;
    for checked in store.checked_blocks(from)? {
        let CheckedBlock {
            key,
            block,
            is_whole,
            ..
        } = checked?;
        if block.index == 0 {
            before_commit = tail.clone();
            incomplete.clear();
        }
        incomplete.push(key);
        is_complete = is_whole && block.index + 1 == block.total;
        tail = tail.after(std::slice::from_ref(&block), block.last());
    }
    Ok(if is_complete {
        (tail, Vec::new())
    } else {
        (before_commit, incomplete)
    })
}

/// Checks that the journal begins at the record that `anchor` names. Returns the keys left over from an interrupted
/// trim.
fn check_begin(store: &BlockStore, anchor: &Anchor) -> Result<Vec<BlockKey>, JournalError> {
    let corrupt = |fault| store::corrupt(anchor.first, fault);
    let mut leftovers = Vec::new();
    for key in store.keys(block::key(0, 0)) {
        let key = key.map_err(corrupt)?;
        if block::seq_of(key) >= anchor.first {
            break;
        }
        leftovers.push(key);
    }
    let first = block::key(anchor.first, 0);
    let found = store
        .blocks(first)
        .next()
        .ok_or_else(|| corrupt(ReadError::missing()))?;
    let (key, block) = found.map_err(corrupt)?;
    if key != first || block.chain != anchor.first_chain {
        return Err(corrupt(ReadError::missing()));
    }
    Ok(leftovers)
}
