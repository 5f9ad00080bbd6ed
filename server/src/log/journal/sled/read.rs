//! Reads entries from the store.

use std::sync::atomic::Ordering;

use hub_protocol::Seq;

use super::Shared;
use super::store::{self, Store};
use crate::log::journal::block::Walk;
use crate::log::journal::{Entry, Hole, JournalError};

impl Shared {
    /// Returns entries from `from` on, see [`crate::log::journal::Journal::read`].
    pub(super) fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let head = self.head.load(Ordering::Acquire);
        loop {
            let earliest = self.earliest.load(Ordering::Acquire);
            let from = from.max(earliest);
            if from > head {
                return Ok(Vec::new());
            }
            let found = self.with_store(|store| self.read_from(store, from, head, max_bytes));
            // The records may have been trimmed meanwhile; then read again.
            if found.is_err() && self.earliest.load(Ordering::Acquire) != earliest {
                continue;
            }
            return found;
        }
    }

    fn read_from(
        &self,
        store: &Store,
        from: Seq,
        head: Seq,
        max_bytes: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        let mut at = from;
        loop {
            match self.read_on(store, at, head, max_bytes) {
                Err(JournalError::Corrupt { at: broken, reason }) => {
                    at = self.step_over(store, broken, head, &reason)?;
                }
                found => return found,
            }
        }
    }

    /// Returns entries from `from` on, up to the first that cannot be read. Fails if that is the first of all.
    fn read_on(
        &self,
        store: &Store,
        from: Seq,
        head: Seq,
        max_bytes: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        let mut walk = Walk::new(self.options.fences.chain);
        let (mut found, mut size, mut at) = (Vec::new(), 0, from);
        for block in store.blocks(store.start_of(from)?) {
            let stepped = block.and_then(|(_, block)| Ok((walk.step(&block)?, block)));
            let (entries, block) = match stepped {
                Ok(stepped) => stepped,
                Err(_) if !found.is_empty() => break,
                Err(fault) => return Err(store::corrupt(at, fault)),
            };
            if block.is_hole() {
                self.holes.note(Hole {
                    from: block.first,
                    to: block.last(),
                    settled: true,
                });
            }
            for entry in entries
                .into_iter()
                .filter(|entry| (from..=head).contains(&entry.seq))
            {
                size += entry.payload.len();
                if size > max_bytes && !found.is_empty() {
                    return Ok(found);
                }
                found.push(entry);
            }
            if !walk.is_within_record() {
                at = from.max(block.last() + 1);
            }
            // Stop at the head: a commit may be in progress above it, and its blocks need not chain yet.
            if size >= max_bytes || (block.last() >= head && !walk.is_within_record()) {
                break;
            }
        }
        if found.is_empty() {
            return Err(store::corrupt(at, store::Fault::missing()));
        }
        Ok(found)
    }
}
