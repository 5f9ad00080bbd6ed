//! The journal of a hub: a write-ahead log in front of sled.
//!
//! A commit is durable as soon as the log has it: one write, one `fdatasync` of a file whose room is there already. The
//! store behind it needs two syncs and all of its threads for each flush, so it gets many commits at once, from a thread
//! of its own. Readers see both as one journal.
//!
//! The log holds what the store does not hold yet: some 30 KiB, or what came in the last second. At open it is taken in.
//! File in the state directory: `wal`, beside those of [`super::sled`].

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hub_protocol::{Epoch, Seq};

use super::sled::{Files, OpenError, Options, Origin, SledJournal};
use super::snapshot::Snapshots;
use super::{Entry, Health, Journal, JournalError};

mod adopt;
mod frame;
mod mover;
mod pending;
mod wal;

pub use adopt::adopt;

use mover::Mover;
use pending::Pending;
use wal::{Left, Wal};

/// A journal in a directory.
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
    /// Published after the sync: readers never see what is not durable.
    head: AtomicU64,
}

#[derive(Debug)]
struct Writer {
    wal: Wal,
    /// The chain after the head.
    chain: u32,
    closed: bool,
}

impl DiskJournal {
    /// Opens the journal in the state directory `dir`, or makes one where there is none, as [`SledJournal::open`] does.
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
        // Snapshots hold what is durable only, so this is no commit cut short: what was stored last is lost.
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

    /// Reads everything in the store and compares it with what must be there; what only the log holds was at open.
    pub fn scrub(&self, progress: impl FnMut(Seq)) -> Result<(), JournalError> {
        self.shared.store.scrub(progress)
    }

    /// Where its kept part begins.
    pub fn origin(&self) -> Origin {
        self.shared.store.origin()
    }
}

/// Opens the log, or makes it where everything was in the store so far.
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
        wal::open(files, store.epoch(), store.end(), options.log_bytes, sync)
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
            self.pending.push(place.half, entries.to_vec());
        } else {
            // It is larger than the log: nothing would be gained.
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
        self.shared.append(&mut writer, entries)
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        match self.shared.pending.read(from, max_bytes) {
            Some(found) => Ok(found),
            None => self.shared.store.read(from, max_bytes),
        }
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
