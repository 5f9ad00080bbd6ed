//! A journal in memory with a fault.

use std::sync::Arc;
use std::sync::Mutex;

use hub_core::record::kinds;
use hub_log::journal::memory::MemoryJournal;
use hub_log::journal::{Entry, Health, Journal, JournalError};
use hub_protocol::{Epoch, Seq};

/// A fault.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// Every publish fails for want of space, until healed.
    Low,
    /// Every read returns other bytes than were written.
    Corrupt,
}

pub(crate) struct Faulty {
    inner: MemoryJournal,
    fault: Mutex<Option<Fault>>,
}

impl Faulty {
    pub(crate) fn new() -> Arc<Self> {
        let inner = MemoryJournal::new(Epoch(1));
        let fault = Mutex::new(None);
        Arc::new(Self { inner, fault })
    }

    /// Sets the fault.
    pub(crate) fn inject(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    fn is_low(&self) -> bool {
        matches!(*self.fault.lock().unwrap(), Some(Fault::Low))
    }

    pub(crate) fn heal(&self) {
        *self.fault.lock().unwrap() = None;
    }
}

impl Journal for Faulty {
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
        if self.is_low() && entries.iter().any(|entry| entry.kind == kinds::NOTIFIED) {
            return Err(JournalError::Full);
        }
        self.inner.append(entries)
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        if let Some(Fault::Corrupt) = *self.fault.lock().unwrap() {
            return Err(JournalError::Corrupt {
                at: from,
                reason: "injected".into(),
            });
        }
        self.inner.read(from, max_bytes)
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.inner.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn health(&self) -> Health {
        if self.is_low() {
            Health::Full
        } else {
            Health::Sound
        }
    }

    fn close(&self) -> Result<(), JournalError> {
        self.inner.close()
    }
}
