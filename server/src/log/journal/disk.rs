//! The journal on disk: a write-ahead log in front of sled.
//!
//! A commit is durable when it is in the log: one write and one `fdatasync` of a preallocated file. The store behind
//! the log needs two syncs and all of its threads for each flush, so a separate thread moves commits to it in
//! batches. Readers see log and store as one journal.
//!
//! The log contains the commits that the store does not contain yet: about 30 KiB, or those of the last second.
//! [`DiskJournal::open`] reads them back. The log is the file `wal` in the state directory, beside the files of
//! [`super::sled`].

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hub_protocol::{Epoch, Seq};

use super::sled::{self, Files, OpenError, Options, Origin, SledJournal};
use super::snapshot::Snapshots;
use super::{Entry, Health, Hole, Journal, JournalError};

mod adopt;
mod frame;
mod mover;
mod pending;
mod wal;

pub use adopt::adopt;

use mover::Mover;
use pending::Pending;
use wal::{Left, Wal};

/// A journal in a state directory.
#[derive(Debug)]
pub struct DiskJournal {
    shared: Arc<Shared>,
    mover: Mover,
}

#[derive(Debug)]
struct Shared {
    store: SledJournal,
    pending: Pending,
    writer: Mutex<Writer>,
    /// The number of the last durable entry. It is stored after the sync, so readers never see an entry that is not
    /// durable.
    head: AtomicU64,
}

#[derive(Debug)]
struct Writer {
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
        let (wal, left) = open_log(&files, &store, options)?;
        let (mut head, mut chain) = store.end();
        let pending = Pending::default();
        for Left { half, frame, .. } in left {
            (head, chain) = (frame.last(), frame.chain_after);
            pending.push(half, frame.entries);
        }
        // A snapshot contains only durable records. If one is newer than the head, the newest commits were lost.
        let snapshots = Snapshots::new(&files.snapshots(), store.epoch());
        if let Some(synced) = snapshots.above(head)? {
            return Err(OpenError::Behind { head, synced });
        }
        let shared = Arc::new(Shared {
            store,
            pending,
            head: AtomicU64::new(head),
            writer: Mutex::new(Writer {
                wal,
                chain,
                closed: false,
            }),
        });
        let mover = Mover::start(&shared)?;
        Ok(Self { shared, mover })
    }

    /// Reads the whole store and checks it against the epoch file. `open` has already checked the commits in the log.
    pub fn scrub(&self, progress: impl FnMut(Seq)) -> Result<(), JournalError> {
        self.shared.store.scrub(progress)
    }

    /// Returns the ranges of lost records that reads have found so far.
    pub fn holes(&self) -> Vec<Hole> {
        self.shared.store.holes()
    }

    /// Returns the identity of the journal, its first kept record and the chain there.
    pub fn origin(&self) -> Origin {
        self.shared.store.origin()
    }
}

/// Opens the log. Creates it for a journal of format 1, which stores every commit in sled at once.
fn open_log(
    files: &Files,
    store: &SledJournal,
    options: Options,
) -> Result<(Wal, Vec<Left>), OpenError> {
    let begin = || -> Result<_, OpenError> {
        if !store.has_log() {
            wal::create(files, options.log_bytes)?;
            store.begin_log()?;
        }
        let sync = options.fences.log_sync;
        let logged = store.logged();
        let opened = wal::open(
            files,
            store.epoch(),
            store.end(),
            logged,
            options.log_bytes,
            sync,
        )?;
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

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, writer: &mut Writer, entries: &[Entry]) -> Result<(), JournalError> {
        let (frame, chain) = frame::encode(self.store.epoch(), writer.chain, entries);
        if let Some((place, anew)) = writer.wal.place(frame.len()) {
            if anew {
                self.pending.wait_for_half(place.half)?;
            }
            let written = writer.wal.write(place, &frame);
            written.inspect_err(|error| self.store.failed(error))?;
            self.store.note_logged(entries[entries.len() - 1].seq);
            self.pending.push(place.half, entries.to_vec());
        } else {
            // The commit is larger than half of the log, so it goes to the store directly.
            self.pending.wait_for_all()?;
            self.store.append(entries)?;
        }
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
        match self.shared.pending.read(from, max_bytes) {
            Some(found) => Ok(found),
            None => self.shared.store.read(from, max_bytes),
        }
    }

    fn hole_at(&self, seq: Seq) -> Option<Hole> {
        self.shared.store.hole_at(seq)
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.shared.store.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.shared.store.bytes() + self.shared.pending.bytes()
    }

    fn health(&self) -> Health {
        self.shared.store.health()
    }

    fn close(&self) -> Result<(), JournalError> {
        if std::mem::replace(&mut self.shared.writer().closed, true) {
            return Ok(());
        }
        self.mover.end();
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
