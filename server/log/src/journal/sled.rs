//! The journal on sled, with protection against sled's faults. Only the modules in here may use sled.
//!
//! sled 0.34.7 is a store of values, not a journal. It acknowledges writes that are not durable, may open empty or
//! skip a damaged segment without an error, and must be reopened after a full disk. The journal handles each fault:
//!
//! - A commit is durable by `fdatasync` of sled's `db` file after sled's own flush, which ends in `sync_file_range`.
//! - Blocks are inserted one by one (a batch costs a second sync), at most 4 KiB each, see [`super::block`].
//! - sled gives the room of a rewritten page to new data when the rewrite is written, not when it is durable. At least
//!   one segment (512 KiB) of its log lies between the two. So there is a sync every 32 KiB of blocks and every 16
//!   removals: with all the pages that sled rewrites for these, that stays below a segment.
//! - sled never syncs its `conf` file, so the journal does.
//! - sled's background flusher is off: the one writer flushes, and sled frees space as pages are replaced. In a soak
//!   of a million records with 20 MB kept, its file stayed between 38 and 43 MB.
//! - The epoch file, outside of sled, records what the journal must contain; open compares them, see [`super::epoch`].
//!
//! Tests switch off one of the [`DurabilityChecks`] at a time and replay power cuts, to show what each one prevents.
//!
//! | module | content |
//! |---|---|
//! | `store`, `files` | the calls of sled; the paths of the journal's files |
//! | `open` | options, errors, the copy of sled's files before it opens them, verification |
//! | `append`, `read`, `trim` | the work on an open journal |
//! | `scrub` | verification in the background |
//! | `place` | whether the files are still where they were opened |
//! | `disk_space`, `data_file` | the reserve for a full disk; sled's data file, read without sled |
//! | `recovery`, `staging` | the copy of a damaged or oversized journal; its way into place |

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use hub_core::record::kinds;
use hub_core::sync::{self, PeriodicThread};
use hub_protocol::{Epoch, Seq};

use super::block::Tail;
use super::epoch::{EpochFile, FORMAT};
use super::{Entry, Health, Journal, JournalError, LostRange};

mod append;
mod data_file;
mod disk_space;
mod files;
mod open;
mod place;
mod read;
mod recovery;
mod scrub;
mod staging;
mod store;
mod trim;

pub use disk_space::free_bytes;
pub use files::Files;
pub(super) use open::random_epoch;
pub use open::{DurabilityChecks, JournalOrigin, OpenError, Options};
pub(super) use place::OpenedFile;
pub use recovery::AdoptedRecords;
pub(super) use recovery::{CopiedRecords, copy_verified, known_used};
pub(super) use staging::rename_aside;
pub use staging::{DirLock, StagedJournal};
pub(super) use store::io_error;

use disk_space::DiskSpace;
use open::PreOpenBackup;
use read::lost::LostRanges;
use store::BlockStore;

/// A journal in sled, in a state directory.
#[derive(Debug)]
pub struct SledJournal {
    shared: Arc<SledShared>,
    scrubber: Mutex<Option<PeriodicThread>>,
}

#[derive(Debug)]
struct SledShared {
    files: Files,
    options: Options,
    epoch: Epoch,
    /// `None` if the store could not be reopened after a full disk.
    store: RwLock<Option<BlockStore>>,
    writer: Mutex<StoreWriter>,
    /// sled's data file.
    place: OpenedFile,
    /// The number of the last durable entry. It is stored after the sync, so readers never see an entry that is not
    /// durable.
    head: AtomicU64,
    earliest: AtomicU64,
    bytes: AtomicU64,
    epoch_file: EpochFile,
    space: DiskSpace,
    fault: Mutex<Option<Health>>,
    lost_ranges: LostRanges,
    /// The last record that is durable in the write-ahead log and not overwritten there; 0 if there is none.
    logged: AtomicU64,
    /// The lock file, held open as long as the journal is open, because only one process may use the journal.
    _lock: std::fs::File,
}

#[derive(Debug)]
struct StoreWriter {
    tail: Tail,
    closed: bool,
}

impl SledJournal {
    /// Opens the journal in the state directory `dir`, or creates one if there is none. Verifies the records after
    /// the newest snapshot at once, and the others in the background.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let shared = Arc::new(open::open(dir, options)?);
        let scrubber = scrub::start(&shared).map_err(OpenError::Io)?;
        Ok(Self {
            shared,
            scrubber: Mutex::new(Some(scrubber)),
        })
    }

    /// Reads all blocks and checks that they chain. Calls `progress` with the last verified record.
    pub fn scrub(&self, mut progress: impl FnMut(Seq)) -> Result<(), JournalError> {
        let mut at = self.earliest();
        while at <= self.head() {
            at = self.shared.scrub_some(at, 256)?;
            progress(at - 1);
        }
        Ok(())
    }

    /// Returns the identity of the journal, its first kept record and the chain there.
    pub fn origin(&self) -> JournalOrigin {
        let anchor = self.shared.epoch_file.last();
        JournalOrigin {
            epoch: anchor.epoch,
            first: anchor.first,
            chain: anchor.first_chain,
        }
    }

    /// Returns the number of the last entry and the chain after it.
    pub(super) fn end(&self) -> (Seq, u32) {
        let writer = self.shared.writer();
        (writer.tail.head, writer.tail.chain)
    }

    /// Whether entries that the store does not contain yet may be in a write-ahead log.
    pub(super) fn has_log(&self) -> bool {
        self.shared.epoch_file.last().has_log()
    }

    /// Returns the last record known to be durable in the write-ahead log.
    pub(super) fn logged(&self) -> Seq {
        self.shared.logged.load(Ordering::Acquire)
    }

    /// Records the last record in the write-ahead log; the epoch file contains it within a second.
    pub(super) fn note_logged(&self, seq: Seq) {
        self.shared.logged.store(seq, Ordering::Release);
    }

    /// Durably removes the requirement that the write-ahead log contains a record, because the log is about to be
    /// overwritten.
    pub(super) fn forget_logged(&self) -> std::io::Result<()> {
        self.note_logged(0);
        self.shared.epoch_file.update(|anchor| anchor.logged = 0)
    }

    /// Durably records that the journal has a write-ahead log of `bytes` bytes. Without the log it is not opened again.
    pub(super) fn begin_log(&self, bytes: u64) -> std::io::Result<()> {
        let epoch_file = &self.shared.epoch_file;
        epoch_file.update(|anchor| (anchor.format, anchor.log_bytes) = (FORMAT, Some(bytes)))
    }

    /// Returns the size of the write-ahead log in bytes, if the epoch file names it.
    pub(super) fn log_bytes(&self) -> Option<u64> {
        self.shared.epoch_file.last().log_bytes
    }

    /// Fails if the store's file is no longer in the state directory. Then the store writes nothing more.
    pub(super) fn check_place(&self) -> Result<(), JournalError> {
        self.check_file(&self.shared.place)
    }

    /// The same for another file of the journal.
    pub(super) fn check_file(&self, file: &OpenedFile) -> Result<(), JournalError> {
        file.check().map_err(|error| self.shared.report_gone(error))
    }

    /// Refuses `entries` after a fault, and publishes when the free space is below the floor.
    pub(super) fn admit(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.shared.admit(entries)
    }

    /// Stores admitted entries as one commit. If the disk is full, releases the reserve and tries once more.
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

    /// Handles a failed write to the log: releases the reserve on a full disk; any other error stops all writes.
    pub(super) fn handle_failed_log_write(&self, error: &JournalError) {
        match error {
            JournalError::Full => self.shared.space.release(),
            _ => self.shared.fail(error),
        }
    }

    /// Releases the reserved space. It is allocated again when the disk has room.
    pub(super) fn release_reserve(&self) {
        self.shared.space.release();
    }

    /// Skips the numbers up to and including `seq`: the next entry is `seq + 1`. That entry must be appended before
    /// any read above the head.
    pub fn skip_to(&self, seq: Seq) {
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
        self.shared.head()
    }

    fn earliest(&self) -> Seq {
        self.shared.earliest()
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.admit(entries)?;
        // Acks and trims may use the reserved space; publishes may not.
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

    fn lost_at(&self, seq: Seq) -> Option<LostRange> {
        self.shared.lost_ranges.at(seq)
    }

    fn lost_ranges(&self) -> Vec<LostRange> {
        self.shared.lost_ranges.all()
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.shared.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.shared.kept()
    }

    fn health(&self) -> Health {
        self.shared.health()
    }

    fn close(&self) -> Result<(), JournalError> {
        drop(sync::lock(&self.scrubber).take());
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

/// Whether `entries` contain a notification.
pub(super) fn is_publish(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.kind == kinds::NOTIFIED)
}

impl SledShared {
    fn writer(&self) -> MutexGuard<'_, StoreWriter> {
        sync::lock(&self.writer)
    }

    fn with_store<T>(
        &self,
        act: impl FnOnce(&BlockStore) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let store = sync::read(&self.store);
        let closed = || {
            if self.space.is_known_low() {
                // The store could not be reopened because the disk was full.
                JournalError::Full
            } else {
                std::io::Error::other("the journal is closed").into()
            }
        };
        let store = store.as_ref().ok_or_else(closed)?;
        store::caught(|| act(store))
    }

    fn head(&self) -> Seq {
        self.head.load(Ordering::Acquire)
    }

    fn earliest(&self) -> Seq {
        self.earliest.load(Ordering::Acquire)
    }

    /// Returns the size of the kept entries in bytes.
    fn kept(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn fault(&self) -> Option<Health> {
        sync::lock(&self.fault).clone()
    }

    /// Records a fault. The first one stays, because it names the cause.
    fn report(&self, fault: Health) {
        sync::lock(&self.fault).get_or_insert(fault);
    }

    /// Reports that the files of the journal are gone. Nothing is noted for the next start: another hub may have begun there.
    fn report_gone(&self, error: std::io::Error) -> JournalError {
        tracing::error!(%error, "the journal is no longer in the state directory");
        self.report(Health::Failed(error.to_string()));
        error.into()
    }

    fn health(&self) -> Health {
        match self.fault() {
            Some(fault) => fault,
            None if self.space.is_low(self.kept()) => Health::Full,
            None => Health::Sound,
        }
    }

    /// Writes the durable head to the epoch file. Does nothing after a failure, because the state on the disk is
    /// unknown.
    fn mark(&self) -> Result<(), JournalError> {
        let writer = self.writer();
        if self.is_failed() {
            return Ok(());
        }
        let (synced, chain) = (writer.tail.head, writer.tail.chain);
        let bytes = self.kept();
        drop(writer);
        let logged = self.logged.load(Ordering::Acquire);
        let marked = self.epoch_file.update(|anchor| {
            anchor.logged = logged;
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
        let mut slot = sync::write(&self.store);
        let store = slot.take();
        if self.is_failed() {
            // sled would sync again when it is dropped. After a failed sync, its result means nothing.
            std::mem::forget(store);
            return Ok(());
        }
        BlockStore::close(store).inspect_err(|error| self.fail(error))?;
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
}

#[cfg(test)]
mod tests;
