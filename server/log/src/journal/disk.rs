//! The journal on disk: a write-ahead log in front of sled.
//!
//! ```text
//!    append ──► wal: one write, one fdatasync ──► head ──► answers and wakes
//!                 │ flush queue, in memory
//!                 ▼  WAL flusher: 28 KiB at once, or data a second old
//!               sled: blocks, its flush, fdatasync ──► the log's room is free again
//!    read  ◄── flush queue, or sled
//! ```
//!
//! sled needs two syncs and all of its threads for each flush. So a commit is durable as soon as it is in the
//! write-ahead log, and the WAL flusher stores commits in sled in batches. Readers see log and store as one journal.
//! Only the log contains the newest commits: about 28 KiB, or those of the last second. [`DiskJournal::open`] reads
//! them back: those above sled's head must continue from there, by number and by checksum chain.
//!
//! The epoch file says that a write-ahead log must exist (format 2), so a lost one is detected. It also names a record
//! that the log must hold, so an emptied or older one is detected. A snapshot holds only durable records, so a snapshot
//! above the head proves that the journal lost its end; such a journal is refused.
//!
//! A failed sync and a panic of sled count as failures, never as a full disk, because the page cache may show data that
//! is not on the disk. After a failure the journal writes nothing, not even to the epoch file, until the next start.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use hub_core::sync;
use hub_protocol::{Epoch, Seq};

use super::sled::{self, Files, JournalOrigin, OpenError, Options, SledJournal};
use super::snapshot::Snapshots;
use super::{Entry, Health, Journal, JournalError, LostRange};

mod adopt;
mod flush_queue;
pub mod frame;
mod wal;
mod wal_flusher;

pub use adopt::adopt;

use flush_queue::FlushQueue;
use wal::{UnflushedCommit, Wal};
use wal_flusher::WalFlusher;

/// A journal in a state directory.
#[derive(Debug)]
pub struct DiskJournal {
    shared: Arc<DiskShared>,
    flusher: WalFlusher,
}

#[derive(Debug)]
struct DiskShared {
    store: SledJournal,
    queue: FlushQueue,
    writer: Mutex<WalWriter>,
    /// The number of the last durable entry. It is stored after the sync, so readers never see an entry that is not
    /// durable.
    head: AtomicU64,
}

#[derive(Debug)]
struct WalWriter {
    wal: Wal,
    /// The chain after the last entry.
    chain: u32,
    closed: bool,
}

impl DiskJournal {
    /// Opens the journal in the state directory `dir`, or creates one if there is none, as [`SledJournal::open`]
    /// does.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let store = SledJournal::open(dir, options)?;
        let files = Files::new(dir);
        let (wal, unflushed) = open_log(&files, &store, options)?;
        let (mut head, mut chain) = store.end();
        let queue = FlushQueue::default();
        for UnflushedCommit { frame, end } in unflushed {
            (head, chain) = (frame.last(), frame.chain_after);
            queue.push(end.half, frame.entries);
        }
        // A snapshot contains only durable records. If one is newer than the head, the newest commits were lost.
        let snapshots = Snapshots::new(&files.snapshots(), store.epoch());
        if let Some(synced) = snapshots.above(head)? {
            return Err(OpenError::Behind { head, synced });
        }
        let shared = Arc::new(DiskShared {
            store,
            queue,
            head: AtomicU64::new(head),
            writer: Mutex::new(WalWriter {
                wal,
                chain,
                closed: false,
            }),
        });
        let flusher = WalFlusher::start(&shared)?;
        Ok(Self { shared, flusher })
    }

    /// Reads the whole store and checks it against the epoch file. `open` has already checked the commits in the log.
    pub fn scrub(&self, progress: impl FnMut(Seq)) -> Result<(), JournalError> {
        self.shared.store.scrub(progress)
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
        self.shared.store.origin()
    }
}

/// Opens the log. Creates it for a journal of format 1, which stores every commit in sled at once.
fn open_log(
    files: &Files,
    store: &SledJournal,
    options: Options,
) -> Result<(Wal, Vec<UnflushedCommit>), OpenError> {
    let begin = || -> Result<_, OpenError> {
        if !store.has_log() {
            wal::create(files, options.log_bytes)?;
            store.begin_log(options.log_bytes)?;
        }
        let opened = wal::open(files, store, options)?;
        if store.log_bytes().is_none() {
            store.begin_log(opened.0.bytes())?;
        }
        if opened.1.is_empty() {
            // The log starts again at its first byte, and that overwrites the record that the epoch file requires.
            store.forget_logged()?;
        }
        Ok(opened)
    };
    match begin() {
        Err(OpenError::Full) => {
            store.release_reserve();
            begin()
        }
        result => result,
    }
}

impl DiskShared {
    fn writer(&self) -> MutexGuard<'_, WalWriter> {
        sync::lock(&self.writer)
    }

    fn append(&self, writer: &mut WalWriter, entries: &[Entry]) -> Result<(), JournalError> {
        let (frame, chain) = frame::encode(self.store.epoch(), writer.chain, entries);
        if let Some((position, reuses_half)) = writer.wal.position_for(frame.len()) {
            if reuses_half {
                self.queue.wait_for_half(position.half)?;
            }
            let written = writer.wal.write(position, &frame);
            written.inspect_err(|error| self.store.handle_failed_log_write(error))?;
            self.store.note_logged(entries[entries.len() - 1].seq);
            self.queue.push(position.half, entries.to_vec());
        } else {
            // The commit is larger than half of the log, so it goes to the store directly.
            self.queue.wait_for_all()?;
            self.store.append(entries)?;
            self.store.check_place()?;
        }
        self.store.check_file(writer.wal.place())?;
        writer.chain = chain;
        self.head.fetch_add(entries.len() as u64, Ordering::Release);
        Ok(())
    }
}

impl Journal for DiskJournal {
    fn epoch(&self) -> Epoch {
        self.shared.store.epoch()
    }

    fn head(&self) -> Seq {
        self.shared.head.load(Ordering::Acquire)
    }

    fn earliest(&self) -> Seq {
        self.shared.store.earliest()
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut writer = self.shared.writer();
        if writer.closed {
            return Err(io::Error::other("the journal is closed").into());
        }
        super::assert_numbered(entries, self.head() + 1);
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
            None => self.shared.store.read(from, max_bytes),
        }
    }

    fn lost_at(&self, seq: Seq) -> Option<LostRange> {
        self.shared.store.lost_at(seq)
    }

    fn lost_ranges(&self) -> Vec<LostRange> {
        self.shared.store.lost_ranges()
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.shared.store.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.shared.store.bytes() + self.shared.queue.bytes()
    }

    fn health(&self) -> Health {
        self.shared.store.health()
    }

    fn close(&self) -> Result<(), JournalError> {
        if std::mem::replace(&mut self.shared.writer().closed, true) {
            return Ok(());
        }
        self.flusher.finish();
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
