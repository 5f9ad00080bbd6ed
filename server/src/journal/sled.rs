//! The journal on sled, fenced.
//!
//! sled 0.34.7 is a store of values, not a journal: it acknowledges what is not durable, may open empty or skip a broken
//! segment without a word, and must be reopened after a full disk. What is done about each:
//!
//! - A commit is durable by `fdatasync` of sled's `db` file after sled's own flush, which ends in `sync_file_range`.
//! - Blocks are inserted one by one (a batch costs a second sync), at most 4 KiB each, see [`super::block`].
//! - sled gives the room of a rewritten page to new data when the rewrite is written, not when it is durable. Between
//!   the two lies at least a segment (512 KiB) of its log, so there is a sync every 32 KiB of blocks, and every 16
//!   removals: with everything that sled rewrites for these that stays below a segment.
//! - sled's background flusher is off: the one writer flushes, and sled frees space as pages are replaced. In a soak
//!   of a million records with 20 MB kept, its file stayed between 38 and 43 MB.
//! - What must be there is written down outside of sled, see [`super::epoch`], and compared at open.
//!
//! Files in the state directory: `journal/` (sled's), `epoch`, `reserve`, `journal.lock`, `suspect` after a failed write,
//! and `*.replaced` for what was put aside.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use hub_protocol::{Epoch, Seq};

use super::block::{self, Tail};
use super::epoch::{EpochFile, FORMAT};
use super::{Entry, Health, Journal, JournalError};
use crate::record::kinds;

mod fences;
mod files;
mod keeper;
mod making;
mod open;
mod read;
mod rescue;
mod space;
mod store;
mod trim;
mod verify;

pub use fences::Fences;
pub use files::Files;
pub(super) use making::put_aside;
pub use making::{Lock, Making};
pub(super) use open::random_epoch;
pub use open::{OpenError, Options, Origin};
pub use rescue::Rescued;
pub(super) use rescue::{Copied, copy_verified, known_used};
pub use space::free_bytes;
pub(super) use store::io_error;

use keeper::Keeper;
use space::Space;
use store::Store;

/// A journal in a directory.
#[derive(Debug)]
pub struct SledJournal {
    shared: Arc<Shared>,
    keeper: Mutex<Option<Keeper>>,
}

#[derive(Debug)]
struct Shared {
    files: Files,
    options: Options,
    epoch: Epoch,
    /// Absent while it could not be reopened after a full disk.
    store: RwLock<Option<Store>>,
    writer: Mutex<Writer>,
    /// Published after the sync: readers never see what is not durable.
    head: AtomicU64,
    earliest: AtomicU64,
    bytes: AtomicU64,
    epoch_file: EpochFile,
    space: Space,
    fault: Mutex<Option<Health>>,
    /// Held as long as the journal is open: one process at a time.
    _lock: std::fs::File,
}

#[derive(Debug)]
struct Writer {
    tail: Tail,
    closed: bool,
}

impl SledJournal {
    /// Opens the journal in the state directory `dir`, or makes one where there is none. Everything from the newest
    /// snapshot on is verified; the rest is verified in the background.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let shared = Arc::new(open::open(dir, options)?);
        let keeper = Keeper::start(&shared).map_err(OpenError::Io)?;
        Ok(Self {
            shared,
            keeper: Mutex::new(Some(keeper)),
        })
    }

    /// Reads everything and compares it with what must be there.
    pub fn scrub(&self, mut progress: impl FnMut(Seq)) -> Result<(), JournalError> {
        let mut at = self.earliest();
        while at <= self.head() {
            at = self.shared.scrub_some(at, 256)?;
            progress(at - 1);
        }
        Ok(())
    }

    /// Where its kept part begins.
    pub fn origin(&self) -> Origin {
        let anchor = self.shared.epoch_file.last();
        Origin {
            epoch: anchor.epoch,
            first: anchor.first,
            chain: anchor.first_chain,
        }
    }

    /// The last entry, and the chain after it.
    pub(super) fn end(&self) -> (Seq, u32) {
        let writer = self.shared.writer();
        (writer.tail.head, writer.tail.chain)
    }

    /// Whether entries that it does not hold yet may be in a write-ahead log.
    pub(super) fn has_log(&self) -> bool {
        self.shared.epoch_file.last().has_log()
    }

    /// Writes down that there is a write-ahead log from now on: without it the journal is not opened again.
    pub(super) fn begin_log(&self) -> std::io::Result<()> {
        self.shared
            .epoch_file
            .update(|anchor| anchor.format = FORMAT)
    }

    /// Whether `entries` may be written now: what is new needs room above the floor.
    pub(super) fn admit(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.shared.admit(entries)
    }

    /// Stores entries that were admitted as one commit, with the room that is kept for a full disk where it must be.
    pub(super) fn store(&self, entries: &[Entry]) -> Result<(), JournalError> {
        match self.store_once(entries) {
            Err(JournalError::Full) => self.store_once(entries),
            result => result,
        }
    }

    fn store_once(&self, entries: &[Entry]) -> Result<(), JournalError> {
        let Some(last) = entries.last() else {
            return Ok(());
        };
        let mut writer = self.shared.writer();
        if writer.closed {
            return Err(std::io::Error::other("the journal is closed").into());
        }
        super::assert_numbered(entries, writer.tail.next());
        self.shared.ready(&writer)?;
        self.shared.commit(&mut writer, entries, last.seq)
    }

    /// Deals with a failed write beside it: a full disk gets the reserve, anything else puts the journal out of use.
    pub(super) fn failed(&self, error: &JournalError) {
        match error {
            JournalError::Full => self.shared.space.release(),
            _ => self.shared.fail(error),
        }
    }

    /// Gives back what is kept for a full disk, until there is room again.
    pub(super) fn release_reserve(&self) {
        self.shared.space.release();
    }

    /// Leaves out the numbers up to and including `seq`: the next entry is `seq + 1`. It must be appended before
    /// anything is read above the head.
    pub(crate) fn skip_to(&self, seq: Seq) {
        let mut writer = self.shared.writer();
        assert!(seq >= writer.tail.head, "numbers are never given twice");
        writer.tail.skip_to = Some(seq);
    }
}

impl Journal for SledJournal {
    fn epoch(&self) -> Epoch {
        self.shared.epoch
    }

    fn head(&self) -> Seq {
        self.shared.head.load(Ordering::Acquire)
    }

    fn earliest(&self) -> Seq {
        self.shared.earliest.load(Ordering::Acquire)
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.admit(entries)?;
        // What makes room, or tells that something was read, may use the reserve; a publish may not.
        if is_publish(entries) {
            self.store_once(entries)
        } else {
            self.store(entries)
        }
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let found = self.shared.read(from, max_bytes);
        if let Err(JournalError::Corrupt { at, reason }) = &found {
            self.shared.report(Health::Corrupt {
                at: *at,
                reason: reason.clone(),
            });
        }
        found
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.shared.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    fn health(&self) -> Health {
        self.shared.health()
    }

    fn close(&self) -> Result<(), JournalError> {
        drop(
            self.keeper
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        self.shared.close()
    }
}

impl Drop for SledJournal {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the journal was not closed cleanly");
        }
    }
}

fn is_publish(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.kind == kinds::NOTIFIED)
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_store<T>(
        &self,
        act: impl FnOnce(&Store) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        let closed = || std::io::Error::other("the journal is closed");
        let store = store.as_ref().ok_or_else(closed)?;
        store::caught(|| act(store))
    }

    fn head(&self) -> Seq {
        self.head.load(Ordering::Acquire)
    }

    fn earliest(&self) -> Seq {
        self.earliest.load(Ordering::Acquire)
    }

    fn fault(&self) -> Option<Health> {
        self.fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Keeps the first fault: it says where to look.
    fn report(&self, fault: Health) {
        self.fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(fault);
    }

    fn health(&self) -> Health {
        match self.fault() {
            Some(fault) => fault,
            None if self.space.is_low() => Health::Full,
            None => Health::Sound,
        }
    }

    /// Writes down what is durable by now; after a failure nobody knows.
    fn mark(&self) -> Result<(), JournalError> {
        let writer = self.writer();
        if self.is_failed() {
            return Ok(());
        }
        let (synced, chain) = (writer.tail.head, writer.tail.chain);
        let bytes = self.bytes.load(Ordering::Relaxed);
        drop(writer);
        let marked = self.epoch_file.update(|anchor| {
            if synced >= anchor.synced {
                (anchor.synced, anchor.chain, anchor.bytes) = (synced, chain, bytes);
            }
        });
        marked.map_err(store::io_error)
    }

    fn close(&self) -> Result<(), JournalError> {
        let mut writer = self.writer();
        if std::mem::replace(&mut writer.closed, true) {
            return Ok(());
        }
        drop(writer);
        let mut slot = self.store.write().unwrap_or_else(PoisonError::into_inner);
        let store = slot.take();
        if self.is_failed() {
            // sled would sync once more as it is dropped, and what that says is no longer to be trusted.
            std::mem::forget(store);
            return Ok(());
        }
        let dropped = store::caught(|| {
            drop(store);
            Ok(())
        });
        dropped.inspect_err(|error| self.fail(error))?;
        self.mark()
    }

    fn is_failed(&self) -> bool {
        matches!(self.fault(), Some(Health::Failed(_)))
    }

    fn refuse_after_fault(&self) -> Result<(), JournalError> {
        match self.fault() {
            Some(Health::Corrupt { at, reason }) => Err(JournalError::Corrupt { at, reason }),
            Some(Health::Failed(reason)) => Err(std::io::Error::other(reason).into()),
            _ => Ok(()),
        }
    }

    fn admit(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.refuse_after_fault()?;
        assert!(
            entries
                .iter()
                .all(|entry| block::stored_len(entry) <= block::MAX_STORED),
            "an entry has at most {} bytes",
            block::MAX_STORED
        );
        let size = entries.iter().map(block::stored_len).sum::<usize>() as u64;
        if is_publish(entries) && !self.space.has_room(size) {
            return Err(JournalError::Full);
        }
        Ok(())
    }

    /// Writes one commit; after an error the journal is as before.
    fn commit(
        &self,
        writer: &mut Writer,
        entries: &[Entry],
        head: Seq,
    ) -> Result<(), JournalError> {
        let blocks = writer.tail.pack(entries);
        let written = self.with_store(|store| {
            let mut unsynced = 0;
            for block in &blocks {
                let (key, value) = block.encode();
                unsynced += value.len();
                if unsynced > store::SYNC_EVERY && self.options.fences.paced {
                    store.sync()?;
                    unsynced = value.len();
                }
                store.insert(key, value)?;
            }
            store.sync()
        });
        if let Err(error) = written {
            return Err(self.failed(writer, error));
        }
        let size = entries.iter().map(block::stored_len).sum::<usize>() as u64;
        writer.tail = writer.tail.after(&blocks, head);
        self.bytes.fetch_add(size, Ordering::Relaxed);
        self.head.store(head, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
