//! The store on sled, with protection against sled's faults. Only the modules in here may use sled.
//!
//! sled 0.34.7 is a store of values, not a journal. It acknowledges writes that are not durable, may open empty or
//! skip a damaged segment without an error, and must be reopened after a full disk. This module handles each fault:
//!
//! - A commit is durable by `fdatasync` of sled's `db` file after sled's own flush, which ends in `sync_file_range`.
//! - Blocks are inserted one by one (a batch costs a second sync), at most 4 KiB each, see [`super::block`].
//! - sled gives the room of a rewritten page to new data when the rewrite is written, not when it is durable. At least
//!   one segment (512 KiB) of its log lies between the two. So there is a sync every 48 KiB of blocks and every 16
//!   removals: with all the pages that sled rewrites for these, up to seven times as much in a soak, that stays below a segment.
//! - sled never syncs its `conf` file, so this module does.
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
//! | `append`, `read`, `trim` | the work on an open store |
//! | `lost` | the records that neither copy has |
//! | `place` | whether the files are still where they were opened |
//! | `disk_space` | the reserve for a full disk |
//! | `renew` | an empty store in place of a damaged or oversized one |
//! | `staging` | the way of a new journal into place |

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, RwLock};

use hub_core::record::kinds;
use hub_core::sync;
use hub_protocol::Seq;

use super::block::{self, Tail};
use super::disk::{Run, Store};
use super::epoch::EpochFile;
use super::{Entry, Health, JournalError};

mod append;
mod disk_space;
mod donor;
mod files;
mod lost;
mod open;
mod place;
mod read;
mod renew;
mod staging;
mod store;
mod trim;

pub use disk_space::free_bytes;
pub(super) use donor::Donor;
pub use files::Files;
pub use lost::LostRanges;
pub use open::{DurabilityChecks, JournalOrigin, OpenError, Options, read_anchor};
pub(super) use open::{random_epoch, with_reserve};
pub(super) use place::OpenedFile;
pub use staging::{DirLock, StagedJournal};
pub(super) use store::io_error;

use disk_space::DiskSpace;
use store::{BlockStore, ReadError};

/// A store in sled, in a state directory.
#[derive(Debug)]
pub struct SledStore {
    files: Files,
    options: Options,
    /// `None` if the store could not be reopened after a full disk.
    store: RwLock<Option<BlockStore>>,
    writer: Mutex<StoreWriter>,
    /// sled's data file; `None` without a store. A store that a full disk closed has it.
    place: Mutex<Option<OpenedFile>>,
    /// The number of the last durable entry. It is stored after the sync, so readers never see an entry that is not
    /// durable.
    head: AtomicU64,
    epoch_file: EpochFile,
    space: DiskSpace,
    fault: Mutex<Option<Health>>,
    lost: LostRanges,
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

impl SledStore {
    /// Opens the store in the state directory `dir`, or creates one if there is none. Verifies the records after the
    /// newest snapshot.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        open::open(dir, options)
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the store was not closed cleanly");
        }
    }
}

impl Store for SledStore {
    fn epoch_file(&self) -> &EpochFile {
        &self.epoch_file
    }

    fn head(&self) -> Seq {
        self.head.load(Ordering::Acquire)
    }

    fn end(&self) -> (Seq, u32) {
        let writer = self.writer();
        (writer.tail.head, writer.tail.chain)
    }

    fn mark(&self) {
        if self.is_failed() {
            // The state on the disk is unknown.
            return;
        }
        if let Err(error) = self.epoch_file.mark() {
            self.fail(&store::io_error(error));
        }
        // Check the free space here, because another program may fill the disk while no publish checks it.
        self.space.has_room(0);
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

    fn store(&self, run: &Run) -> Result<(), JournalError> {
        match self.store_run(run) {
            Err(JournalError::Full) => self.store_run(run),
            result => result,
        }
    }

    fn run(&self, from: Seq, to: Seq, max_bytes: usize) -> Result<Run, JournalError> {
        if !self.is_there() {
            return Err(store::corrupt(from, ReadError::missing()));
        }
        self.with_store(|store| read::run(store, &self.lost, (from, to), max_bytes))
    }

    fn next_readable(&self, from: Seq, to: Seq) -> Result<Option<Seq>, JournalError> {
        if !self.is_there() {
            return Ok(None);
        }
        self.with_store(|store| read::next_readable(store, &self.lost, (from, to)))
    }

    fn lost(&self) -> &LostRanges {
        &self.lost
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.drop_below(below)
    }

    fn damage(&self) -> Option<String> {
        sync::lock(&self.damage).clone()
    }

    fn report_damage(&self, reason: String) {
        let mut damage = sync::lock(&self.damage);
        if damage.is_none() {
            tracing::warn!(
                reason,
                "the store is damaged: its records are read from the segments"
            );
            *damage = Some(reason);
        }
    }

    fn is_too_large(&self) -> bool {
        self.is_too_large.load(Ordering::Relaxed)
    }

    fn renew(&self) -> Result<(), JournalError> {
        self.make_anew()
    }

    fn health(&self) -> Health {
        match self.fault() {
            Some(fault) => fault,
            None if self.space.is_low() => Health::Full,
            None => Health::Sound,
        }
    }

    fn report(&self, fault: Health) {
        sync::lock(&self.fault).get_or_insert(fault);
    }

    fn check_place(&self) -> io::Result<()> {
        let place = sync::lock(&self.place);
        place.as_ref().map_or(Ok(()), OpenedFile::check)
    }

    fn handle_failed_log_write(&self, error: &JournalError) {
        match error {
            JournalError::Full => self.space.release(),
            _ => self.fail(error),
        }
    }

    fn close(&self) -> Result<(), JournalError> {
        if std::mem::replace(&mut self.writer().closed, true) {
            return Ok(());
        }
        let store = sync::write(&self.store).take();
        if self.is_failed() {
            // sled would sync again when it is dropped. After a failed sync, its result means nothing.
            std::mem::forget(store);
            return Ok(());
        }
        BlockStore::close(store).inspect_err(|error| self.fail(error))?;
        self.epoch_file.mark().map_err(store::io_error)
    }
}

/// Whether `entries` contain a notification.
pub(super) fn is_publish(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.kind == kinds::NOTIFIED)
}

impl SledStore {
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

    /// Whether there is a store. One that a full disk closed is there.
    fn is_there(&self) -> bool {
        // A renewal holds the store, so its place says what is there after it.
        let store = sync::read(&self.store);
        store.is_some() || sync::lock(&self.place).is_some()
    }

    fn fault(&self) -> Option<Health> {
        sync::lock(&self.fault).clone()
    }

    fn is_failed(&self) -> bool {
        matches!(self.fault(), Some(Health::Failed(_)))
    }

    fn refuse_after_fault(&self) -> Result<(), JournalError> {
        match self.fault() {
            Some(Health::Corrupt { at, reason }) => Err(JournalError::Corrupt { at, reason }),
            Some(Health::Failed(reason)) => Err(io::Error::other(reason).into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
