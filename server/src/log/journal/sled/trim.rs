//! Trims the journal's oldest blocks, and repairs the store after a failed write.

use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use hub_protocol::Seq;

use super::open::open_with_room;
use super::store::{self, REMOVALS_PER_SYNC, Store};
use super::{Fences, Files, OpenError, Shared, Writer, holes, readable};
use crate::log::journal::block::{self, Key, Tail};
use crate::log::journal::{Health, JournalError};

/// The number of blocks dropped by one call. The writer waits for at most [`REMOVALS_PER_SYNC`] of them.
const BLOCKS_PER_CALL: usize = 64;

/// The blocks dropped by one call, and the first record kept after them, with the chain before it.
struct Prefix {
    keys: Vec<Key>,
    bytes: u64,
    first: Seq,
    chain: u32,
}

impl Shared {
    /// Drops up to 64 blocks below `below`. The epoch file is updated first, so a crash in between leaves extra
    /// blocks and never looks like a loss.
    pub(super) fn trim(&self, below: Seq) -> Result<(), JournalError> {
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

    /// Handles a failed write. After a full disk, it restores the store to its state before the write; any other
    /// error stops all writes. Returns the error to report.
    pub(super) fn failed(&self, writer: &Writer, error: JournalError) -> JournalError {
        if !matches!(error, JournalError::Full) {
            self.fail(&error);
            return error;
        }
        self.space.release();
        self.restore(&writer.tail).err().unwrap_or(error)
    }

    /// Reopens sled, which refuses all calls after a full disk, and removes the uncommitted blocks. An error other
    /// than a full disk stops all writes.
    fn restore(&self, tail: &Tail) -> Result<(), JournalError> {
        let mut slot = self.store.write().unwrap_or_else(PoisonError::into_inner);
        // sled syncs when it is dropped, and panics if the sync fails.
        let old = slot.take();
        let _ = store::caught(|| {
            drop(old);
            Ok(())
        });
        let opened = store::caught(|| {
            let store = reopen(&self.files, self.options.fences)?;
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

    /// Checks that the journal can be written. Refuses after a fault, and reopens a store that could not be reopened
    /// before.
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

    /// Stops all writes until the next start, which copies the journal because the page cache may differ from the
    /// disk.
    pub(super) fn fail(&self, error: &JournalError) {
        tracing::error!(%error, "the journal failed");
        let marked = crate::core::durable::replace(
            &self.files.suspect(),
            &[error.to_string().as_bytes(), b"\n"],
        );
        if let Err(error) = marked {
            tracing::error!(%error, "the failure could not be noted for the next start");
        }
        self.report(Health::Failed(error.to_string()));
    }
}

/// Reopens sled after checking that its file is readable, because sled would overwrite unreadable data.
fn reopen(files: &Files, fences: Fences) -> Result<Store, JournalError> {
    let opened =
        readable::check(files).and_then(|()| open_with_room(&files.journal(), fences.fdatasync));
    opened.map_err(|error| match error {
        OpenError::Full => JournalError::Full,
        OpenError::Io(error) => error.into(),
        error => io::Error::other(error.to_string()).into(),
    })
}

/// Returns the blocks to drop below `below`; `None` if there are none. Blocks below `earliest` are left over from a
/// failed trim: they are dropped too, but not counted again. Unreadable blocks are dropped if their keys can be read.
fn prefix(
    store: &Store,
    earliest: Seq,
    below: Seq,
    head: Seq,
) -> Result<Option<Prefix>, JournalError> {
    let mut prefix = Prefix {
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
        let next = holes::next_readable(store, behind, head)?;
        let next = next.ok_or_else(|| store::corrupt(behind, store::Fault::missing()))?;
        let hole = store.keys(block::key(behind, 0)).map_while(Result::ok);
        at = block::key(next, 0);
        prefix.keys.extend(hole.take_while(|key| *key < at));
    }
}

/// Removes blocks durably.
pub(super) fn remove(store: &Store, keys: &[Key]) -> Result<(), JournalError> {
    for key in keys {
        store.remove(*key)?;
    }
    store.sync()
}

/// Removes the blocks beyond `tail`, and restores the last block if it was rewritten with more entries.
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
