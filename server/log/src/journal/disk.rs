//! The journal on disk: two copies of each record, in segments and in sled.
//!
//! ```text
//!    append ──► segment: one write, one fdatasync ──► head ──► answers and wakes
//!                 │ queue, in memory; or the segments
//!                 ▼  copier: 44 KiB at once, or data a second old; it compares the copies, too
//!               sled: blocks, its flush, fdatasync
//!    read  ◄── queue, sled, or the segments
//! ```
//!
//! sled needs two syncs and all of its threads for each flush. So a commit is durable as soon as it is in a segment, and the
//! copier stores commits in sled in batches. Readers see both as one journal. Only the segments contain the newest commits:
//! about 44 KiB, or those of the last second.
//!
//! A segment stays until retention drops its records. So each copy is repaired from the other: what sled lost is read from
//! the segments, and sled is made anew; what a segment lost is read from sled, and the segment is written again.
//!
//! The epoch file names a record that the segments must hold, so the loss of the newest ones is detected. A snapshot holds
//! only durable records, so a snapshot above the head proves the same; such a journal is refused.
//!
//! A failed sync and a panic of sled count as failures, never as a full disk, because the page cache may show data that
//! is not on the disk. After a failure the journal writes nothing, not even to the epoch file, until the next start.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use hub_core::sync;
use hub_protocol::{Epoch, Seq};

use super::sled::{self, Files, JournalOrigin, OpenError, Options, SledStore};
use super::{Entry, Health, Journal, JournalError, LostRange, Repairs};

mod adopt;
mod copier;
pub mod frame;
mod migrate;
mod open;
mod queue;
mod repair;
mod segments;
mod store;

pub use adopt::{AdoptedRecords, adopt};
pub use store::{Run, Store};

use copier::Copier;
use queue::Queue;
use repair::RepairState;
use segments::{Active, Segments};

/// A journal in a state directory.
#[derive(Debug)]
pub struct DiskJournal {
    shared: Arc<DiskShared>,
    /// `None` if the owner copies, see [`DiskJournal::over`].
    copier: Option<Copier>,
}

#[derive(Debug)]
struct DiskShared {
    store: Arc<dyn Store>,
    epoch: Epoch,
    segments: Segments,
    queue: Queue,
    repairs: RepairState,
    files: Files,
    /// Whether it is made by `hubd adopt`, so that lost records are accepted.
    is_adopted: AtomicBool,
    writer: Mutex<LogWriter>,
    /// The number of the last durable entry. It is stored after the sync, so readers never see an entry that is not
    /// durable.
    head: AtomicU64,
}

#[derive(Debug)]
struct LogWriter {
    /// `None` if the next commit begins a segment.
    active: Option<Active>,
    /// The chain after the last entry.
    chain: u32,
    /// The number of the next entry.
    next: Seq,
    closed: bool,
}

impl DiskJournal {
    /// Opens the journal in the state directory `dir`, or creates one if there is none, as [`SledStore::open`]
    /// does.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let store = Arc::new(SledStore::open(dir, options)?);
        let shared = Arc::new(DiskShared::open(store, &Files::new(dir), options)?);
        let copier = Some(Copier::start(&shared)?);
        Ok(Self { shared, copier })
    }

    /// Opens the segments in `files` in front of `store`. No thread copies: that is done by [`Self::copy`].
    pub fn over(store: Arc<dyn Store>, files: &Files, options: Options) -> Result<Self, OpenError> {
        Ok(Self {
            shared: Arc::new(DiskShared::open(store, files, options)?),
            copier: None,
        })
    }

    /// Repairs what is damaged, and stores the next records in the store.
    pub fn copy(&self) {
        self.shared.prepare_next();
        self.shared.round(|| ());
        if let Err(error) = self.shared.copy_some() {
            tracing::debug!(%error, "nothing was copied");
        }
    }

    /// Reads both copies as a whole, repairs one from the other, and finds what both lost. `progress` gets the last verified
    /// record.
    pub fn scrub(&self, progress: impl FnMut(Seq)) -> Result<(), JournalError> {
        let missing = self.shared.verify_all(progress)?;
        self.shared.repair(|| ())?;
        if missing.is_empty() {
            return Ok(());
        }
        for at in self.shared.verify_all(|_| ())? {
            self.shared
                .step_over(at, "neither the segments nor the store have it")?;
        }
        Ok(())
    }

    /// Waits until the store has all records. `progress` gets the last one that it has.
    pub fn copy_all(&self, mut progress: impl FnMut(Seq)) -> Result<(), JournalError> {
        while self.shared.copy_some()? {
            progress(self.shared.store.head());
        }
        Ok(())
    }

    /// Refuses `entries` after a fault, and publishes when the disk is full.
    pub fn admit(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.shared.store.admit(entries)
    }

    /// Returns the last durable entry and the chain after it.
    pub fn end(&self) -> (Seq, u32) {
        let writer = self.shared.writer();
        (self.head(), writer.chain)
    }

    /// Returns the identity of the journal, its first kept record and the chain there.
    pub fn origin(&self) -> JournalOrigin {
        let anchor = self.shared.store.epoch_file().last();
        JournalOrigin {
            epoch: anchor.epoch,
            first: anchor.first,
            chain: anchor.first_chain,
        }
    }

    /// Skips the numbers up to and including `seq`: the next entry is `seq + 1`. That entry must be appended before
    /// any read above the head.
    pub fn skip_to(&self, seq: Seq) {
        let mut writer = self.shared.writer();
        assert!(seq + 1 >= writer.next, "numbers are never given twice");
        writer.next = seq + 1;
    }
}

impl DiskJournal {
    /// Appends records of an adopted journal, after a gap if they do not continue this one.
    fn append_run(&self, run: &Run) -> Result<(), JournalError> {
        self.shared.is_adopted.store(true, Ordering::Relaxed);
        let mut writer = self.shared.writer();
        (writer.chain, writer.next) = (run.chain, run.entries[0].seq);
        self.shared.append(&mut writer, &run.entries)
    }
}

impl DiskShared {
    fn writer(&self) -> MutexGuard<'_, LogWriter> {
        sync::lock(&self.writer)
    }

    fn head(&self) -> Seq {
        self.head.load(Ordering::Acquire)
    }

    fn earliest(&self) -> Seq {
        self.store.epoch_file().earliest()
    }

    fn append(&self, writer: &mut LogWriter, entries: &[Entry]) -> Result<(), JournalError> {
        let (chain, first) = (writer.chain, entries[0].seq);
        let (frame, chain_after) = frame::encode(self.epoch, chain, entries);
        let written = self.segments.append(&mut writer.active, first, &frame);
        written.inspect_err(|error| self.store.handle_failed_log_write(error))?;
        if let Some(active) = &writer.active {
            let found = active.check_place();
            found.map_err(|error| self.report_gone(error))?;
        }
        let last = entries[entries.len() - 1].seq;
        let entries = entries.to_vec();
        let run = Run { chain, entries };
        let end = (last, chain_after);
        self.store.epoch_file().note(end, run.bytes() as u64);
        self.queue.push(self.head(), run);
        (writer.chain, writer.next) = (chain_after, last + 1);
        self.head.store(last, Ordering::Release);
        Ok(())
    }

    /// Whether a write failed, or the files are gone: nothing is written any more.
    fn is_failed(&self) -> bool {
        matches!(self.store.health(), Health::Failed(_))
    }

    /// Notes in the epoch file what is durable. A directory that is gone is noticed here without any append.
    fn mark(&self) {
        if self.is_failed() {
            return;
        }
        match self.store.check_place() {
            Ok(()) => self.store.mark(),
            Err(error) => drop(self.report_gone(error)),
        }
    }

    /// Reports that a file of the journal is gone. Nothing is noted for the next start: another hub may have begun there.
    fn report_gone(&self, error: io::Error) -> JournalError {
        tracing::error!(%error, "the journal is no longer in the state directory");
        self.store.report(Health::Failed(error.to_string()));
        error.into()
    }

    /// Returns entries from `from` on, which are no longer in the queue. Steps over records that neither copy has.
    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let mut at = from;
        loop {
            let earliest = self.earliest();
            at = at.max(earliest);
            let head = self.head();
            if at > head {
                return Ok(Vec::new());
            }
            match self.run_of_either(at, head, max_bytes) {
                Ok(run) => return Ok(run.entries),
                // The records may have been trimmed meanwhile; then read again.
                Err(_) if self.earliest() != earliest => {}
                Err(JournalError::Corrupt { reason, .. }) => at = self.step_over(at, &reason)?,
                Err(error) => return Err(error),
            }
        }
    }
}

impl Journal for DiskJournal {
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
        if entries.is_empty() {
            return Ok(());
        }
        let mut writer = self.shared.writer();
        if writer.closed {
            return Err(io::Error::other("the journal is closed").into());
        }
        super::assert_numbered(entries, writer.next);
        self.shared.store.admit(entries)?;
        match self.shared.append(&mut writer, entries) {
            // Acks and trims may use the reserved space, which the first attempt has freed; publishes may not.
            Err(JournalError::Full) if !sled::is_publish(entries) => {
                self.shared.append(&mut writer, entries)
            }
            appended => appended,
        }
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        match self.shared.queue.read(from, max_bytes) {
            Some(found) => Ok(found),
            None => self.shared.read(from, max_bytes),
        }
    }

    fn lost_ranges(&self) -> Vec<LostRange> {
        self.shared.store.lost().all()
    }

    fn repairs(&self) -> Repairs {
        self.shared.repairs.done()
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        if self.shared.store.damage().is_some() {
            return Ok(());
        }
        match self.shared.store.trim(below) {
            // The caller tries again, and the store is made anew by then.
            Err(JournalError::Corrupt { reason, .. }) => {
                self.shared.store.report_damage(reason);
                return Ok(());
            }
            trimmed => trimmed?,
        }
        let dropped = self.shared.segments.drop_below(self.earliest());
        dropped.map_err(sled::io_error)
    }

    fn bytes(&self) -> u64 {
        self.shared.store.epoch_file().bytes()
    }

    fn health(&self) -> Health {
        self.shared.store.health()
    }

    fn close(&self) -> Result<(), JournalError> {
        if std::mem::replace(&mut self.shared.writer().closed, true) {
            return Ok(());
        }
        match &self.copier {
            Some(copier) => copier.finish(),
            None => while self.shared.copy_some().unwrap_or(false) {},
        }
        self.shared.store.close()
    }
}

impl Drop for DiskJournal {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the journal was not closed cleanly");
        }
    }
}

#[cfg(test)]
mod tests;
