//! Trims the journal: drops its oldest blocks.
//!
//! The epoch file is updated first, so a crash in between leaves extra blocks and never looks like a loss.

use std::io;
use std::sync::atomic::Ordering;

use hub_protocol::Seq;

use super::SledStore;
use super::read::lost;
use super::store::{self, BlockStore, REMOVALS_PER_SYNC, ReadError};
use crate::journal::JournalError;
use crate::journal::block::{self, BlockKey};
use crate::journal::disk::Store as _;

/// The number of blocks dropped by one call. The writer waits for at most [`REMOVALS_PER_SYNC`] of them.
const BLOCKS_PER_CALL: usize = 64;

/// The blocks dropped by one call, and the first record kept after them, with the chain before it.
struct TrimmedPrefix {
    keys: Vec<BlockKey>,
    bytes: u64,
    first: Seq,
    chain: u32,
}

impl SledStore {
    /// Drops up to [`BLOCKS_PER_CALL`] blocks below `below`.
    pub(super) fn drop_below(&self, below: Seq) -> Result<(), JournalError> {
        if below <= self.earliest() {
            return Ok(());
        }
        self.ready(&self.writer())?;
        let (earliest, below) = (self.earliest(), below.min(self.head()));
        let head = self.head();
        let Some(prefix) = self.with_store(|store| prefix(store, earliest, below, head))? else {
            return Ok(());
        };
        self.anchor_at(&prefix).map_err(store::io_error)?;
        self.earliest.store(prefix.first, Ordering::Release);
        for keys in prefix.keys.chunks(self.removals_per_sync()) {
            let writer = self.writer();
            self.ready(&writer)?;
            if let Err(error) = self.with_store(|store| remove(store, keys)) {
                return Err(self.handle_failed_write(&writer, error));
            }
        }
        Ok(())
    }

    fn removals_per_sync(&self) -> usize {
        if self.options.checks.paced {
            REMOVALS_PER_SYNC
        } else {
            BLOCKS_PER_CALL
        }
    }

    fn anchor_at(&self, prefix: &TrimmedPrefix) -> io::Result<()> {
        let _writer = self.writer();
        self.epoch_file.update(|anchor| {
            anchor.first = prefix.first;
            anchor.first_chain = prefix.chain;
            anchor.bytes = anchor.bytes.saturating_sub(prefix.bytes);
        })?;
        let less = |bytes: u64| Some(bytes.saturating_sub(prefix.bytes));
        let _ = self
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        Ok(())
    }
}

/// Returns the blocks to drop below `below`; `None` if there are none. Blocks below `earliest` are left over from a
/// failed trim: they are dropped too, but not counted again. Unreadable blocks are dropped if their keys can be read.
fn prefix(
    store: &BlockStore,
    earliest: Seq,
    below: Seq,
    head: Seq,
) -> Result<Option<TrimmedPrefix>, JournalError> {
    let mut prefix = TrimmedPrefix {
        keys: Vec::new(),
        bytes: 0,
        first: 0,
        chain: 0,
    };
    let mut at = match store.first() {
        Ok(None) => return Ok(None),
        Ok(Some(first)) => first,
        Err(_) => block::key(earliest, 0),
    };
    let (mut counted, mut behind) = (0, block::seq_of(at));
    loop {
        for block in store.blocks(at) {
            let Ok((key, block)) = block else { break };
            let is_kept = block.part == 0 && (block.last() >= below || counted >= BLOCKS_PER_CALL);
            if is_kept {
                (prefix.first, prefix.chain) = (block.first, block.chain);
                return Ok(Some(prefix).filter(|it| !it.keys.is_empty() || it.first > earliest));
            }
            if block.first >= earliest {
                prefix.bytes += block.body_len();
                counted += 1;
            }
            prefix.keys.push(key);
            behind = block.last() + 1;
        }
        let next = lost::next_readable(store, behind, head)?;
        let next = next.ok_or_else(|| store::corrupt(behind, ReadError::missing()))?;
        let unreadable = store.keys(block::key(behind, 0)).map_while(Result::ok);
        at = block::key(next, 0);
        prefix.keys.extend(unreadable.take_while(|key| *key < at));
    }
}

/// Removes blocks durably.
pub(super) fn remove(store: &BlockStore, keys: &[BlockKey]) -> Result<(), JournalError> {
    for key in keys {
        store.remove(*key)?;
    }
    store.sync()
}
