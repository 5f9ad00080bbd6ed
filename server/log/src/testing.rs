//! Entries and journals for tests, also those of other crates.

use std::path::Path;
use std::sync::Arc;

use hub_core::record::{InboxClosed, Record};
use hub_protocol::{Epoch, ProjectName, Seq, Timestamp};

use crate::journal::disk::{Run, Store as _};
use crate::journal::memory::MemoryJournal;
use crate::journal::sled::{OpenError, Options, SledStore};
use crate::journal::{Entry, Health, Journal, JournalError};
use crate::{Event, Log};

/// Returns the stored form of a record.
pub fn entry(seq: Seq, record: &Record) -> Entry {
    let (kind, payload) = record.encode();
    Entry { seq, kind, payload }
}

/// A journal in memory with a health of its own, and an action before each commit and each read.
pub struct TestJournal {
    pub inner: Arc<MemoryJournal>,
    pub health: Box<dyn Fn() -> Health + Send + Sync>,
    pub before_append: Box<dyn Fn() + Send + Sync>,
    pub before_read: Box<dyn Fn() + Send + Sync>,
}

impl Journal for TestJournal {
    fn epoch(&self) -> Epoch {
        self.inner.epoch()
    }

    fn head(&self) -> Seq {
        self.inner.head()
    }

    fn earliest(&self) -> Seq {
        self.inner.earliest()
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        (self.before_append)();
        self.inner.append(entries)
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        (self.before_read)();
        self.inner.read(from, max_bytes)
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.inner.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn health(&self) -> Health {
        (self.health)()
    }

    fn close(&self) -> Result<(), JournalError> {
        self.inner.close()
    }
}

/// The store without segments, as hubs of format 1 had it: what it promises alone.
pub struct StoreAlone(pub SledStore);

impl StoreAlone {
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        Ok(Self(SledStore::open(dir, options)?))
    }
}

impl Journal for StoreAlone {
    fn epoch(&self) -> Epoch {
        self.0.epoch_file().last().epoch
    }

    fn head(&self) -> Seq {
        self.0.head()
    }

    fn earliest(&self) -> Seq {
        self.0.epoch_file().earliest()
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.0.admit(entries)?;
        let (_, chain) = self.0.end();
        let entries = entries.to_vec();
        let run = Run { chain, entries };
        self.0.store(&run)?;
        let end = self.0.end();
        self.0.epoch_file().note(end, run.bytes() as u64);
        Ok(())
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let (from, head) = (from.max(self.earliest()), self.head());
        if from > head {
            return Ok(Vec::new());
        }
        Ok(self.0.run(from, head, max_bytes)?.entries)
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.0.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.0.epoch_file().bytes()
    }

    fn health(&self) -> Health {
        self.0.health()
    }

    fn close(&self) -> Result<(), JournalError> {
        self.0.close()
    }
}

/// A log in memory.
pub fn log() -> Arc<Log> {
    Arc::new(Log::new(Arc::new(MemoryJournal::new(Epoch(7)))))
}

/// Returns a commit with one event for each of these inboxes.
pub fn events(log: &Log, inboxes: &[&str]) -> Vec<Arc<Event>> {
    let event = |(name, seq): (&&str, Seq)| {
        let (project, inbox) = (ProjectName::default(), name.parse().unwrap());
        let at = Timestamp::from_millis(0);
        let record = Record::InboxClosed(InboxClosed { project, inbox, at });
        Arc::new(Event::new(entry(seq, &record), record))
    };
    inboxes.iter().zip(log.head() + 1..).map(event).collect()
}

/// Publishes [`events`].
pub fn say(log: &Log, inboxes: &[&str]) {
    log.publish(&events(log, inboxes));
}
