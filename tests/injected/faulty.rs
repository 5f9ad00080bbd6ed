//! A journal in memory of which one call fails.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hub_protocol::{Epoch, Seq};
use hubd::journal::memory::MemoryJournal;
use hubd::journal::{Entry, Health, Journal, JournalError};
use hubd::record::kinds;

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// No space, once.
    Full {
        /// The number of the call, from 0.
        call: usize,
    },
    /// A failed write or read, once.
    Io {
        /// The number of the call, from 0.
        call: usize,
        /// Whether a failed write is there all the same.
        stored: bool,
    },
    /// No room for anything new, until healed.
    Low,
    /// Every read finds something else than was written.
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

    /// How many calls there were that can fail.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// From now on this is the fault.
    pub(crate) fn breaks(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    fn is_low(&self) -> bool {
        matches!(*self.fault.lock().unwrap(), Some(Fault::Low))
    }

    pub(crate) fn heal(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// The error of this call, if it is its turn, and whether its effect happens.
    fn turn(&self) -> Option<(JournalError, bool)> {
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
        match self.turn() {
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
        match self.turn() {
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
        self.turn().map_or(Ok(()), |(error, _)| Err(error))
    }
}
