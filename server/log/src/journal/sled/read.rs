//! Reads entries from the store. Records that cannot be read are skipped, see [`lost`].

use std::ops::ControlFlow;

use hub_protocol::Seq;

use super::SledShared;
use super::store::{self, BlockStore, ReadError};
use crate::journal::{Entry, JournalError};

pub(super) mod lost;

impl SledShared {
    /// Returns entries from `from` on, see [`crate::journal::Journal::read`].
    pub(super) fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        let (mut at, head) = (from, self.head());
        loop {
            let earliest = self.earliest();
            at = at.max(earliest);
            if at > head {
                return Ok(Vec::new());
            }
            let read = |store: &BlockStore| self.read_readable(store, at, head, max_bytes);
            let found = self.with_store(|store| match read(store) {
                Err(JournalError::Corrupt { at, reason }) => {
                    let next = self.step_over(store, at, head, &reason)?;
                    Ok(ControlFlow::Continue(next))
                }
                found => found.map(ControlFlow::Break),
            });
            match found {
                Ok(ControlFlow::Break(entries)) => return Ok(entries),
                Ok(ControlFlow::Continue(next)) => at = next,
                // The records may have been trimmed meanwhile; then read again.
                Err(_) if self.earliest() != earliest => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns entries from `from` on, up to the first that cannot be read. Fails if that is the first of all.
    fn read_readable(
        &self,
        store: &BlockStore,
        from: Seq,
        head: Seq,
        max_bytes: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        let (mut found, mut size, mut at) = (Vec::new(), 0, from);
        for checked in store.checked_blocks(from, self.options.checks.chain)? {
            let checked = match checked {
                Err(_) if !found.is_empty() => break,
                checked => checked?,
            };
            self.lost_ranges.note_recorded(&checked.block);
            let entries = checked.entries.into_iter();
            for entry in entries.filter(|entry| (from..=head).contains(&entry.seq)) {
                size += entry.payload.len();
                if size > max_bytes && !found.is_empty() {
                    return Ok(found);
                }
                found.push(entry);
            }
            at = checked.next;
            // Stop at the head: a commit may be in progress above it, and its blocks need not chain yet. A block may hold only
            // a part of a record.
            if (size >= max_bytes && !found.is_empty())
                || (checked.is_whole && checked.block.last() >= head)
            {
                break;
            }
        }
        if found.is_empty() {
            return Err(store::corrupt(at, ReadError::missing()));
        }
        Ok(found)
    }
}
