//! Dropping the log's prefix, and putting the store right after a failed write.

use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use hub_protocol::Seq;

use super::store::{self, REMOVALS_PER_SYNC, Store};
use super::{Shared, Writer};
use crate::journal::block::{self, Key, Tail};
use crate::journal::{Health, JournalError};

/// Blocks that one call drops: the writer waits for no more than [`REMOVALS_PER_SYNC`] of them.
const BLOCKS_PER_CALL: usize = 64;

/// What one call drops.
struct Prefix {
    keys: Vec<Key>,
    bytes: u64,
    first: Seq,
    chain: u32,
}

impl Shared {
    /// Drops up to 64 blocks below `below`. What must be there is changed first, so a crash between leaves leftovers
    /// and never looks like a loss.
    pub(super) fn trim(&self, below: Seq) -> Result<(), JournalError> {
        if below <= self.earliest() {
            return Ok(());
        }
        self.ready(&self.writer())?;
        let (earliest, below) = (self.earliest(), below.min(self.head()));
        let Some(prefix) = self.with_store(|store| prefix(store, earliest, below))? else {
            return Ok(());
        };
        self.anchor_at(&prefix).map_err(store::io_error)?;
        self.earliest.store(prefix.first, Ordering::Release);
        for keys in prefix.keys.chunks(self.removals_per_sync()) {
            let writer = self.writer();
            self.ready(&writer)?;
            if let Err(error) = self.with_store(|store| remove(store, keys)) {
                return Err(self.failed(&writer, error));
            }
        }
        Ok(())
    }

    fn removals_per_sync(&self) -> usize {
        if self.options.fences.paced {
            REMOVALS_PER_SYNC
        } else {
            BLOCKS_PER_CALL
        }
    }

    fn anchor_at(&self, prefix: &Prefix) -> io::Result<()> {
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

    /// Deals with a failed write: gives the error to report, with the store as before the write or out of use.
    pub(super) fn failed(&self, writer: &Writer, error: JournalError) -> JournalError {
        if !matches!(error, JournalError::Full) {
            self.fail(&error);
            return error;
        }
        self.space.release();
        self.restore(&writer.tail).err().unwrap_or(error)
    }

    /// Opens sled again, which refuses everything after a full disk, and takes out what was not committed. Where more
    /// than room is missing for that, the journal is out of use.
    fn restore(&self, tail: &Tail) -> Result<(), JournalError> {
        let mut slot = self.store.write().unwrap_or_else(PoisonError::into_inner);
        // sled syncs as it is dropped and panics where that fails.
        let old = slot.take();
        let _ = store::caught(|| {
            drop(old);
            Ok(())
        });
        let opened = store::caught(|| {
            let store = Store::open(&self.files.journal(), self.options.fences.fdatasync)
                .map_err(store::write_error)?;
            undo(&store, tail)?;
            Ok(store)
        });
        if let Err(error) = &opened
            && !matches!(error, JournalError::Full)
        {
            self.fail(error);
        }
        *slot = Some(opened?);
        Ok(())
    }

    /// Makes ready to write: after a fault nothing is written, and a store that could not be opened again before is.
    pub(super) fn ready(&self, writer: &Writer) -> Result<(), JournalError> {
        self.refuse_after_fault()?;
        if writer.closed {
            return Ok(());
        }
        let closed = self
            .store
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none();
        if closed {
            self.restore(&writer.tail)
        } else {
            Ok(())
        }
    }

    /// Puts the journal out of use until the next start, which does not trust the page cache.
    pub(super) fn fail(&self, error: &JournalError) {
        tracing::error!(%error, "the journal failed");
        let marked = crate::journal::durable::replace(
            &self.files.suspect(),
            &[error.to_string().as_bytes(), b"\n"],
        );
        if let Err(error) = marked {
            tracing::error!(%error, "the failure could not be noted for the next start");
        }
        self.report(Health::Failed(error.to_string()));
    }
}

/// What to drop below `below`. What lies below `earliest` was left by a trim that failed: it is dropped too, and was
/// counted then.
fn prefix(store: &Store, earliest: Seq, below: Seq) -> Result<Option<Prefix>, JournalError> {
    let mut prefix = Prefix {
        keys: Vec::new(),
        bytes: 0,
        first: 0,
        chain: 0,
    };
    let fault = |fault| store::corrupt(below, fault);
    let Some(first) = store.first().map_err(fault)? else {
        return Ok(None);
    };
    let keep = store.start_of(below)?;
    let mut counted = 0;
    for block in store.blocks(first) {
        let (key, block) = block.map_err(fault)?;
        if key == keep || (counted >= BLOCKS_PER_CALL && block.part == 0) {
            (prefix.first, prefix.chain) = (block.first, block.chain);
            return Ok(Some(prefix).filter(|prefix| !prefix.keys.is_empty()));
        }
        if block.first >= earliest {
            prefix.bytes += block.body_len();
            counted += 1;
        }
        prefix.keys.push(key);
    }
    Err(store::corrupt(below, store::Fault::missing()))
}

/// Removes blocks and makes that durable.
pub(super) fn remove(store: &Store, keys: &[Key]) -> Result<(), JournalError> {
    for key in keys {
        store.remove(*key)?;
    }
    store.sync()
}

/// Removes what lies beyond `tail`, and puts back the block that was rewritten with more than it.
fn undo(store: &Store, tail: &Tail) -> Result<(), JournalError> {
    let beyond = store
        .keys(block::key(tail.head + 1, 0))
        .collect::<Result<Vec<_>, _>>();
    let beyond = beyond.map_err(|fault| store::corrupt(tail.head + 1, fault))?;
    for keys in beyond.chunks(REMOVALS_PER_SYNC) {
        remove(store, keys)?;
    }
    if let Some(last) = &tail.last {
        let (key, value) = last.encode();
        store.insert(key, value)?;
    }
    store.sync()
}
