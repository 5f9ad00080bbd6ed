//! Verifies at open that the store contains what the epoch file requires.

use hub_protocol::Seq;

use crate::journal::block::{self, Block, BlockKey, Tail, stored_len};
use crate::journal::epoch::Anchor;
use crate::journal::sled::store::{self, BlockStore, CheckedBlock, REMOVALS_PER_SYNC, ReadError};
use crate::journal::sled::{DurabilityChecks, Files, OpenError, trim};
use crate::journal::{JournalError, snapshot};

/// Checks that the store contains what `anchor` requires, and drops the blocks of unfinished commits and trims.
pub(crate) fn check(
    store: &BlockStore,
    anchor: &Anchor,
    files: &Files,
    checks: DurabilityChecks,
) -> Result<TailScan, OpenError> {
    let first = store.first();
    let first = first.map_err(|fault| store::corrupt(anchor.first, fault))?;
    if first.is_none() {
        return check_empty(anchor, checks);
    }
    let required = checks.epoch && !anchor.has_segments();
    let leftovers = if checks.epoch {
        check_begin(store, anchor)?
    } else {
        Vec::new()
    };
    let folded = snapshot::newest_seq(&*files.disk, &files.snapshots());
    let scan = find_tail(store, folded.min(anchor.synced), anchor, checks)?;
    if required && scan.tail.head < anchor.synced {
        return Err(OpenError::Behind {
            head: scan.tail.head,
            synced: anchor.synced,
        });
    }
    if required && checks.chain && scan.chain_at_synced != Some(anchor.chain) {
        let reason = "the records are not those that were stored".into();
        return Err(OpenError::Broken {
            at: anchor.synced,
            reason,
        });
    }
    drop_blocks(store, &leftovers)?;
    drop_blocks(store, &scan.incomplete)?;
    Ok(scan)
}

fn check_empty(anchor: &Anchor, checks: DurabilityChecks) -> Result<TailScan, OpenError> {
    if checks.epoch && !anchor.has_segments() && anchor.synced >= anchor.first {
        return Err(OpenError::Empty {
            synced: anchor.synced,
        });
    }
    Ok(TailScan::new(anchor))
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
    keys.chunks(REMOVALS_PER_SYNC)
        .try_for_each(|keys| trim::remove(store, keys))
}

/// The newest part of a journal, read at open.
#[derive(Debug, Default)]
pub(crate) struct TailScan {
    /// The end of the last complete commit.
    pub(crate) tail: Tail,
    /// The keys of the blocks of an incomplete commit, which no client was told about.
    pub(crate) incomplete: Vec<BlockKey>,
    /// The chain after the record that the anchor names as synced; `None` if that record was not read.
    pub(crate) chain_at_synced: Option<u32>,
    /// The size in bytes of the entries after that record.
    pub(crate) bytes_since: u64,
}

/// Reads the journal from the record `from` to its end, or from the last complete commit if that is earlier: the copier may be
/// far behind the newest snapshot.
fn find_tail(
    store: &BlockStore,
    from: Seq,
    anchor: &Anchor,
    checks: DurabilityChecks,
) -> Result<TailScan, JournalError> {
    let mut from = from.max(anchor.first);
    loop {
        let scan = scan_tail(store, from, anchor, checks)?;
        let incomplete = scan.incomplete.first().map(|key| block::seq_of(*key));
        match incomplete {
            Some(first) if scan.tail.head < anchor.first && first > anchor.first => {
                from = first - 1;
            }
            _ => return Ok(scan),
        }
    }
}

/// Reads the journal from the record `from` to its end. `anchor` names the record whose chain is checked.
fn scan_tail(
    store: &BlockStore,
    from: Seq,
    anchor: &Anchor,
    checks: DurabilityChecks,
) -> Result<TailScan, JournalError> {
    let mut scan = TailScan::new(anchor);
    let (mut before_commit, mut is_complete) = ((scan.tail.clone(), 0), true);
    for checked in store.checked_blocks(from, checks.chain)? {
        let CheckedBlock {
            key,
            block,
            entries,
            is_whole,
            ..
        } = checked?;
        if block.index == 0 {
            before_commit = (scan.tail.clone(), scan.bytes_since);
            scan.incomplete.clear();
        }
        scan.incomplete.push(key);
        is_complete = is_whole && block.index + 1 == block.total;
        if is_whole {
            scan.note_synced(&block, anchor.synced);
        }
        let since = entries.iter().filter(|entry| entry.seq > anchor.synced);
        scan.bytes_since += since.map(|entry| stored_len(entry) as u64).sum::<u64>();
        scan.tail = scan.tail.after(std::slice::from_ref(&block), block.last());
    }
    if is_complete {
        scan.incomplete.clear();
    } else {
        (scan.tail, scan.bytes_since) = before_commit;
    }
    Ok(scan)
}

impl TailScan {
    /// Returns the end of a journal without blocks.
    pub(crate) fn new(anchor: &Anchor) -> Self {
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

    fn note_synced(&mut self, block: &Block, synced: Seq) {
        if (block.first..=block.last()).contains(&synced) {
            self.chain_at_synced = if block.part > 0 {
                Some(block.chain_after())
            } else {
                block.chain_at(synced)
            };
        }
    }
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
