//! Reading entries back.

use std::sync::atomic::Ordering;

use hub_protocol::Seq;

use super::Shared;
use super::store::{self, Store};
use crate::journal::block::Walk;
use crate::journal::{Entry, JournalError};

impl Shared {
    /// Entries from `from` on, as [`crate::journal::Journal::read`] says.
    pub(super) fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let head = self.head.load(Ordering::Acquire);
        loop {
            let earliest = self.earliest.load(Ordering::Acquire);
            let from = from.max(earliest);
            if from > head {
                return Ok(Vec::new());
            }
            let found = self.with_store(|store| self.read_from(store, from, head, max_bytes));
            // What was just trimmed is not missing.
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
        let mut walk = Walk::new(self.options.fences.chain);
        let (mut found, mut size) = (Vec::new(), 0);
        for block in store.blocks(store.start_of(from)?) {
            let (_, block) = block.map_err(|defect| store::corrupt(next(&found, from), defect))?;
            let last = block.last();
            let entries = walk
                .step(&block)
                .map_err(|defect| store::corrupt(next(&found, from), defect.into()))?;
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
            // Above the head a commit may be under way: the next block need not chain yet.
            if size >= max_bytes || (last >= head && !walk.is_within_record()) {
                break;
            }
        }
        if found.is_empty() {
            return Err(store::corrupt(from, store::Fault::missing()));
        }
        Ok(found)
    }
}

fn next(found: &[Entry], from: Seq) -> Seq {
    found.last().map_or(from, |entry| entry.seq + 1)
}
