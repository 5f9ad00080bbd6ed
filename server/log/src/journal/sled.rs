//! The journal on sled, with protection against sled's faults. Only the modules in here may use sled.
//!
//! sled 0.34.7 is a store of values, not a journal. It acknowledges writes that are not durable, may open empty or
//! skip a damaged segment without an error, and must be reopened after a full disk. The journal handles each fault:
//!
//! - A commit is durable by `fdatasync` of sled's `db` file after sled's own flush, which ends in `sync_file_range`.
//! - Blocks are inserted one by one (a batch costs a second sync), at most 4 KiB each, see [`super::block`].
//! - sled gives the room of a rewritten page to new data when the rewrite is written, not when it is durable. At least
//!   one segment (512 KiB) of its log lies between the two. So there is a sync every 48 KiB of blocks and every 16
//!   removals: with all the pages that sled rewrites for these, up to seven times as much in a soak, that stays below a segment.
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
//! | `open` | options, errors, verification |
//! | `append`, `read`, `trim` | the work on an open journal |
//! | `scrub` | verification in the background |
//! | `place` | whether the files are still where they were opened |
//! | `disk_space` | the reserve for a full disk |
//! | `renew` | an empty store in place of a damaged or oversized one |
//! | `staging` | the way of a new journal into place |

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use hub_core::record::kinds;
use hub_core::sync::{self, PeriodicThread};
use hub_protocol::{Epoch, Seq};

use super::block::{self, Tail};
use super::disk::{Run, Store};
use super::epoch::{self, EpochFile};
use super::{Entry, Health, Journal, JournalError, LostRange};

mod append;
mod disk_space;
mod donor;
mod files;
mod open;
mod place;
mod read;
mod renew;
mod scrub;
mod staging;
mod store;
mod trim;

pub use disk_space::free_bytes;
pub(super) use donor::Donor;
pub use files::Files;
pub use open::{DurabilityChecks, JournalOrigin, OpenError, Options};
pub(super) use open::{random_epoch, read_anchor};
pub(super) use place::OpenedFile;
pub use staging::{DirLock, StagedJournal};
pub(super) use store::io_error;

use disk_space::DiskSpace;
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
    /// sled's data file; `None` without a store. A store that a full disk closed has it.
    place: Mutex<Option<OpenedFile>>,
    /// The number of the last durable entry. It is stored after the sync, so readers never see an entry that is not
    /// durable.
    head: AtomicU64,
    earliest: AtomicU64,
    bytes: AtomicU64,
    epoch_file: EpochFile,
    space: DiskSpace,
    fault: Mutex<Option<Health>>,
    lost_ranges: LostRanges,
    /// The last record that the segments must contain, and the chain after it. Without segments, the store must contain it.
    logged: Mutex<(Seq, u32)>,
    /// Why the store must be made anew.
    damage: Mutex<Option<String>>,
    /// Whether the store is to be made anew because of its size.
    is_too_large: AtomicBool,
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
        self.shared.commit(&mut writer, entries, last.seq)?;
        let bytes = entries.iter().map(block::stored_len).sum::<usize>();
        let end = (writer.tail.head, writer.tail.chain);
        self.note_logged(end, bytes as u64);
        Ok(())
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
        match self.store_once(entries) {
            // Acks and trims may use the reserved space; publishes may not.
            Err(JournalError::Full) if !is_publish(entries) => self.store_once(entries),
            stored => stored,
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

impl Store for SledJournal {
    fn origin(&self) -> JournalOrigin {
        let anchor = self.shared.epoch_file.last();
        JournalOrigin {
            epoch: anchor.epoch,
            first: anchor.first,
            chain: anchor.first_chain,
        }
    }

    fn end(&self) -> (Seq, u32) {
        let writer = self.shared.writer();
        (writer.tail.head, writer.tail.chain)
    }

    fn format(&self) -> u32 {
        self.shared.epoch_file.last().format
    }

    fn begin_segments(&self) -> std::io::Result<()> {
        let (synced, chain) = self.logged();
        let bytes = self.shared.kept();
        self.shared.epoch_file.update(|anchor| {
            (anchor.format, anchor.logged) = (epoch::FORMAT, 0);
            (anchor.synced, anchor.chain, anchor.bytes) = (synced, chain, bytes);
        })
    }

    fn in_log(&self) -> Seq {
        self.shared.epoch_file.last().logged
    }

    fn logged(&self) -> (Seq, u32) {
        *sync::lock(&self.shared.logged)
    }

    fn note_logged(&self, end: (Seq, u32), bytes: u64) {
        let mut logged = sync::lock(&self.shared.logged);
        *logged = end;
        self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn admit(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.shared.admit(entries)
    }

    fn store(&self, run: &Run) -> Result<(), JournalError> {
        match self.shared.store_run(run) {
            Err(JournalError::Full) => self.shared.store_run(run),
            result => result,
        }
    }

    fn run(&self, from: Seq, to: Seq, max_bytes: usize) -> Result<Run, JournalError> {
        self.shared.run(from, to, max_bytes)
    }

    fn next_readable(&self, from: Seq, to: Seq) -> Result<Option<Seq>, JournalError> {
        self.shared.next_readable(from, to)
    }

    fn note_lost(&self, range: LostRange) {
        self.shared.lost_ranges.note(range);
    }

    fn damage(&self) -> Option<String> {
        self.shared.damage()
    }

    fn report_damage(&self, reason: String) {
        self.shared.report_damage(reason);
    }

    fn is_too_large(&self) -> bool {
        self.shared.is_too_large.load(Ordering::Relaxed)
    }

    fn renew(&self) -> Result<(), JournalError> {
        self.shared.renew()
    }

    fn remove_replaced(&self) {
        self.shared.remove_replaced();
    }

    fn report(&self, fault: Health) {
        self.shared.report(fault);
    }

    fn is_suspect(&self) -> bool {
        self.shared.files.suspect().exists()
    }

    fn check_place(&self) -> Result<(), JournalError> {
        self.shared
            .check_place()
            .map_err(|error| self.report_gone(error))
    }

    fn report_gone(&self, error: std::io::Error) -> JournalError {
        self.shared.report_gone(error)
    }

    fn handle_failed_log_write(&self, error: &JournalError) {
        match error {
            JournalError::Full => self.shared.space.release(),
            _ => self.shared.fail(error),
        }
    }

    fn release_reserve(&self) {
        self.shared.space.release();
    }

    fn scrub_some(&self, from: Seq) -> Result<Seq, JournalError> {
        self.shared.scrub_some(from, 256)
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
        // The store could not be reopened because the disk was full.
        let store = store.as_ref().ok_or(JournalError::Full)?;
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
            None if self.space.is_low() => Health::Full,
            None => Health::Sound,
        }
    }

    /// Writes the last durable record to the epoch file. Does nothing after a failure, because the state on the disk is
    /// unknown.
    fn mark(&self) -> Result<(), JournalError> {
        if self.is_failed() {
            return Ok(());
        }
        let logged = sync::lock(&self.logged);
        let ((synced, chain), bytes) = (*logged, self.kept());
        drop(logged);
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

    fn check_place(&self) -> std::io::Result<()> {
        let place = sync::lock(&self.place);
        place.as_ref().map_or(Ok(()), OpenedFile::check)
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
pub(super) mod tests;
