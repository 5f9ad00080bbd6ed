//! A journal in memory, for tests and throw-away hubs: it is lost at exit.

use std::sync::{RwLock, RwLockReadGuard};

use hub_core::sync;
use hub_protocol::{Epoch, Seq};

use super::{Entry, Journal, JournalError};

/// A journal that keeps its entries in a vector.
#[derive(Debug)]
pub struct MemoryJournal {
    epoch: Epoch,
    stored: RwLock<StoredEntries>,
}

#[derive(Debug, Default)]
struct StoredEntries {
    entries: Vec<Entry>,
    trimmed: Seq,
    bytes: u64,
}

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            stored: RwLock::default(),
        }
    }

    fn stored(&self) -> RwLockReadGuard<'_, StoredEntries> {
        sync::read(&self.stored)
    }
}

impl Journal for MemoryJournal {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn head(&self) -> Seq {
        let stored = self.stored();
        stored.trimmed + stored.entries.len() as u64
    }

    fn earliest(&self) -> Seq {
        self.stored().trimmed + 1
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        let mut stored = sync::write(&self.stored);
        stored.bytes += entries
            .iter()
            .map(|entry| entry.payload.len() as u64)
            .sum::<u64>();
        stored.entries.extend_from_slice(entries);
        Ok(())
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let stored = self.stored();
        let skip = usize::try_from(from.saturating_sub(stored.trimmed + 1)).unwrap_or(usize::MAX);
        let mut size = 0;
        let fits = |entry: &&Entry| {
            let first = size == 0;
            size += entry.payload.len() + 1;
            first || size <= max_bytes
        };
        Ok(stored
            .entries
            .iter()
            .skip(skip)
            .take_while(fits)
            .cloned()
            .collect())
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        let mut stored = sync::write(&self.stored);
        let count = usize::try_from(below.saturating_sub(stored.trimmed + 1)).unwrap_or(usize::MAX);
        let count = count.min(stored.entries.len());
        let dropped: u64 = stored
            .entries
            .drain(..count)
            .map(|entry| entry.payload.len() as u64)
            .sum();
        stored.bytes -= dropped;
        stored.trimmed += count as u64;
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.stored().bytes
    }

    fn close(&self) -> Result<(), JournalError> {
        Ok(())
    }
}
