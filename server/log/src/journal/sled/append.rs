//! Appends commits to the store, and repairs the store after a failed write.

use std::io;
use std::sync::atomic::Ordering;

use hub_core::{durable, sync};
use hub_protocol::Seq;

use super::open::open_with_room;
use super::store::{self, BlockStore, SYNC_EVERY};
use super::{DurabilityChecks, Files, OpenError, SledStore, StoreWriter};
use crate::journal::block::{self, Block, Tail};
use crate::journal::disk::{Run, Store as _};
use crate::journal::{Health, JournalError};

impl SledStore {
    /// Stores a run of the segments, see [`crate::journal::disk::Store::store`].
    pub(super) fn store_run(&self, run: &Run) -> Result<(), JournalError> {
        let mut writer = self.writer();
        self.ready(&writer)?;
        let (first, next) = (run.entries[0].seq, writer.tail.next());
        let is_chained = run.chain == writer.tail.chain;
        if first < next || (first == next && !is_chained) {
            let reason = "its end is not that of the segments".into();
            return Err(JournalError::Corrupt { at: first, reason });
        }
        if !is_chained {
            let Tail { head, chain, .. } = writer.tail;
            let block = Block::for_lost(head + 1, first - 1, chain, run.chain);
            self.commit(&mut writer, std::slice::from_ref(&block), first - 1)?;
            self.lost.note_recorded(&block);
        } else if first > next {
            writer.tail.skip_to = Some(first - 1);
        }
        let blocks = writer.tail.pack(&run.entries);
        self.commit(&mut writer, &blocks, run.last())?;
        if writer.tail.head >= self.epoch_file.logged().0 {
            self.remove_replaced();
        }
        Ok(())
    }

    /// Writes one commit, whose last record is `head`. After an error, the store is as before, is damaged or refuses all
    /// writes.
    fn commit(
        &self,
        writer: &mut StoreWriter,
        blocks: &[Block],
        head: Seq,
    ) -> Result<(), JournalError> {
        let written = self.with_store(|store| {
            let mut unsynced = 0;
            for block in blocks {
                let (key, value) = block.encode();
                unsynced += value.len();
                if unsynced > SYNC_EVERY && self.options.checks.paced {
                    store.sync()?;
                    unsynced = value.len();
                }
                store
                    .insert(key, value)
                    .map_err(|error| damaged_at(block.first, error))?;
            }
            store.sync()
        });
        match written {
            Ok(()) => {}
            Err(error @ JournalError::Corrupt { .. }) => return Err(error),
            Err(error) => return Err(self.handle_failed_write(writer, error)),
        }
        writer.tail = writer.tail.after(blocks, head);
        self.head.store(head, Ordering::Release);
        Ok(())
    }

    /// Handles a failed write. After a full disk, it restores the store to its state before the write; any other
    /// error stops all writes. Returns the error to report.
    pub(super) fn handle_failed_write(
        &self,
        writer: &StoreWriter,
        error: JournalError,
    ) -> JournalError {
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
        let mut slot = sync::write(&self.store);
        let _ = BlockStore::close(slot.take());
        let opened = store::caught(|| {
            let store = reopen(&self.files, self.options.checks)?;
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

    /// Checks that the store can be written. Refuses after a fault, and reopens a store that could not be reopened
    /// before.
    pub(super) fn ready(&self, writer: &StoreWriter) -> Result<(), JournalError> {
        self.refuse_after_fault()?;
        if writer.closed {
            return Err(io::Error::other("the store is closed").into());
        }
        if sync::read(&self.store).is_none() {
            return self.restore(&writer.tail);
        }
        Ok(())
    }

    /// Stops all writes until the next start, which makes the store anew because the page cache may differ from the disk.
    pub(super) fn fail(&self, error: &JournalError) {
        tracing::error!(%error, "the journal failed");
        let text = format!("{error}\n");
        if let Err(error) = durable::replace(&self.files.suspect(), &[text.as_bytes()]) {
            tracing::error!(%error, "the failure could not be noted for the next start");
        }
        self.report(Health::Failed(error.to_string()));
    }
}

/// An insert reads the pages around it. If it fails, this copy is damaged, and is made anew from the segments.
fn damaged_at(at: Seq, error: JournalError) -> JournalError {
    match error {
        JournalError::Full => error,
        error => JournalError::Corrupt {
            at,
            reason: error.to_string(),
        },
    }
}

/// Opens sled again.
pub(super) fn reopen(files: &Files, checks: DurabilityChecks) -> Result<BlockStore, JournalError> {
    open_with_room(&files.journal(), checks.fdatasync).map_err(|error| match error {
        OpenError::Full => JournalError::Full,
        OpenError::Io(error) => error.into(),
        error => io::Error::other(error.to_string()).into(),
    })
}

/// Removes the blocks beyond `tail`, and restores the last block if it was rewritten with more entries.
fn undo(store: &BlockStore, tail: &Tail) -> Result<(), JournalError> {
    let beyond = store
        .keys(block::key(tail.head + 1, 0))
        .collect::<Result<Vec<_>, _>>();
    let beyond = beyond.map_err(|fault| store::corrupt(tail.head + 1, fault))?;
    store.remove_all(&beyond)?;
    if let Some(last) = &tail.last {
        let (key, value) = last.encode();
        store.insert(key, value)?;
    }
    store.sync()
}
