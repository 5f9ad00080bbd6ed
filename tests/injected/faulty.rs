//! A journal in memory with one failing call.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hub_core::record::kinds;
use hub_log::journal::memory::MemoryJournal;
use hub_log::journal::{Entry, Health, Journal, JournalError};
use hub_protocol::{Epoch, Seq};

/// A fault, and the calls that it fails.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// One call fails for want of space.
    Full {
        /// The number of the call, from 0.
        call: usize,
    },
    /// One write or read fails.
    Io {
        /// The number of the call, from 0.
        call: usize,
        /// Whether the failed write is stored all the same.
        stored: bool,
    },
    /// Every publish fails for want of space, until healed.
    Low,
    /// Every read returns other bytes than were written.
    Corrupt,
}

pub(crate) struct Faulty {
    inner: MemoryJournal,
    fault: Mutex<Option<Fault>>,
    calls: AtomicUsize,
}

impl Faulty {
    pub(crate) fn new(fault: Option<Fault>) -> Arc<Self> {
        let inner = MemoryJournal::new(Epoch(1));
        Arc::new(Self {
            inner,
            fault: Mutex::new(fault),
            calls: AtomicUsize::new(0),
        })
    }

    /// Returns the number of calls so far that can fail.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
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

    /// Returns the error of this call if it must fail, and whether the call takes effect.
    fn next_fault(&self) -> Option<(JournalError, bool)> {
        let now = self.calls.fetch_add(1, Ordering::SeqCst);
        match *self.fault.lock().unwrap() {
            Some(Fault::Full { call }) if call == now => Some((JournalError::Full, false)),
            Some(Fault::Io { call, stored }) if call == now => {
                Some((JournalError::Io(io::Error::other("injected")), stored))
            }
            _ => None,
        }
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
        match self.next_fault() {
            Some((error, stored)) => {
                if stored {
                    self.inner.append(entries)?;
                }
                Err(error)
            }
            None => self.inner.append(entries),
        }
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        if let Some(Fault::Corrupt) = *self.fault.lock().unwrap() {
            return Err(JournalError::Corrupt {
                at: from,
                reason: "injected".into(),
            });
        }
        match self.next_fault() {
            Some((error, _)) => Err(error),
            None => self.inner.read(from, max_bytes),
        }
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
        self.next_fault().map_or(Ok(()), |(error, _)| Err(error))
    }
}
