//! A journal in memory, for tests and throw-away hubs: it is lost at exit.

use std::sync::{PoisonError, RwLock};

use hub_protocol::{Epoch, Seq};

use super::{Entry, Journal, JournalError};

/// A journal that keeps its entries in a vector.
#[derive(Debug)]
pub struct MemoryJournal {
    epoch: Epoch,
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<Entry>,
    trimmed: Seq,
    bytes: u64,
}

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            inner: RwLock::default(),
        }
    }

    fn inner(&self) -> std::sync::RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn head(&self) -> Seq {
        let inner = self.inner();
        inner.trimmed + inner.entries.len() as u64
    }

    fn earliest(&self) -> Seq {
        self.inner().trimmed + 1
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.bytes += entries
            .iter()
            .map(|entry| entry.payload.len() as u64)
            .sum::<u64>();
        inner.entries.extend_from_slice(entries);
        Ok(())
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let inner = self.inner();
        let skip = usize::try_from(from.saturating_sub(inner.trimmed + 1)).unwrap_or(usize::MAX);
        let mut size = 0;
        let fits = |entry: &&Entry| {
            let first = size == 0;
            size += entry.payload.len() + 1;
            first || size <= max_bytes
        };
        Ok(inner
            .entries
            .iter()
            .skip(skip)
            .take_while(fits)
            .cloned()
            .collect())
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let count = usize::try_from(below.saturating_sub(inner.trimmed + 1)).unwrap_or(usize::MAX);
        let count = count.min(inner.entries.len());
        let dropped: u64 = inner
            .entries
            .drain(..count)
            .map(|entry| entry.payload.len() as u64)
            .sum();
        inner.bytes -= dropped;
        inner.trimmed += count as u64;
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.inner().bytes
    }

    fn close(&self) -> Result<(), JournalError> {
        Ok(())
    }
}
