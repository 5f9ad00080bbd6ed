//! Trims the journal: drops its oldest blocks.
//!
//! The epoch file is updated first, so a crash in between leaves extra blocks and never looks like a loss.

use hub_protocol::Seq;

use super::SledStore;
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
        if below <= self.epoch_file.earliest() {
            return Ok(());
        }
        self.ready(&self.writer())?;
        let (earliest, below) = (self.epoch_file.earliest(), below.min(self.head()));
        let Some(prefix) = self.with_store(|store| prefix(store, earliest, below))? else {
            return Ok(());
        };
        {
            let _writer = self.writer();
            let begun = { &self.epoch_file }.begin_at(prefix.first, prefix.chain, prefix.bytes);
            begun.map_err(store::io_error)?;
        }
        for keys in prefix.keys.chunks(self.removals_per_sync()) {
            let writer = self.writer();
            self.ready(&writer)?;
            if let Err(error) = self.with_store(|store| store.remove(keys)) {
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
}

/// Returns the blocks to drop below `below`; `None` if there are none. Blocks below `earliest` are left over from a
/// failed trim: they are dropped too, but not counted again.
fn prefix(
    store: &BlockStore,
    earliest: Seq,
    below: Seq,
) -> Result<Option<TrimmedPrefix>, JournalError> {
    let corrupt = |fault| store::corrupt(earliest, fault);
    match store.first().map_err(corrupt)? {
        None => return Ok(None),
        Some(first) if block::seq_of(first) > earliest => {
            return Err(corrupt(ReadError::missing()));
        }
        Some(_) => {}
    }
    let (mut keys, mut bytes, mut counted) = (Vec::new(), 0, 0);
    for found in store.blocks(block::key(0, 0)) {
        let (key, block) = found.map_err(corrupt)?;
        if block.part == 0 && (block.last() >= below || counted >= BLOCKS_PER_CALL) {
            let (first, chain) = (block.first, block.chain);
            let prefix = TrimmedPrefix {
                keys,
                bytes,
                first,
                chain,
            };
            return Ok(Some(prefix).filter(|it| !it.keys.is_empty()));
        }
        if block.first >= earliest {
            bytes += block.body_len();
            counted += 1;
        }
        keys.push(key);
    }
    Err(corrupt(ReadError::missing()))
}
