//! The store, as the segments need it: sled with its protections, or a model of them.

use std::io;

use hub_protocol::Seq;

use crate::journal::sled::JournalOrigin;
use crate::journal::{Entry, Health, Journal, JournalError, LostRange, block};

/// Bytes of entries that are read at once.
pub(super) const READ_BYTES: usize = 256 * 1024;

/// Consecutive records, and the chain before them.
#[derive(Debug, Clone)]
pub struct Run {
    /// The chain before the first record.
    pub chain: u32,
    /// The records.
    pub entries: Vec<Entry>,
}

impl Run {
    /// A run of no records yet, after the chain `chain`.
    pub fn empty(chain: u32) -> Self {
        let entries = Vec::new();
        Self { chain, entries }
    }

    /// Returns the number of the last record and the chain after it. There must be a record.
    pub(in crate::journal) fn end(&self) -> (Seq, u32) {
        let mut stored = Vec::new();
        for entry in &self.entries {
            block::put_entry(&mut stored, entry);
        }
        (self.last(), crc32c::crc32c_append(self.chain, &stored))
    }

    /// Returns the number of the last record. There must be one.
    pub(in crate::journal) fn last(&self) -> Seq {
        self.entries[self.entries.len() - 1].seq
    }

    /// Returns the size of the records in bytes.
    pub(in crate::journal) fn bytes(&self) -> usize {
        self.entries.iter().map(block::stored_len).sum()
    }
}

/// A journal that has a copy of the segments' records, and remembers durably what the segments must contain.
pub trait Store: Journal + std::fmt::Debug {
    /// Returns the identity of the journal, its first kept record and the chain there.
    fn origin(&self) -> JournalOrigin;

    /// Returns the number of the store's last entry and the chain after it.
    fn end(&self) -> (Seq, u32);

    /// Returns the format of the journal, see [`crate::journal::epoch`].
    fn format(&self) -> u32;

    /// Durably records that the segments have all records, up to the last noted one.
    fn begin_segments(&self) -> io::Result<()>;

    /// Returns the record that the write-ahead log of format 2 must contain; 0 for none.
    fn in_log(&self) -> Seq;

    /// Returns the last record that the segments must contain, and the chain after it.
    fn logged(&self) -> (Seq, u32);

    /// Notes the last record in the segments and the chain after it, which is recorded durably within a second. `bytes` more
    /// are kept.
    fn note_logged(&self, end: (Seq, u32), bytes: u64);

    /// Refuses `entries` after a fault, and publishes when the free space is below the floor.
    fn admit(&self, entries: &[Entry]) -> Result<(), JournalError>;

    /// Stores `run` as one commit. If it begins after the store's next number, those in between were skipped if the chain
    /// goes on, and else lost. If the disk is full, releases the reserve and tries once more.
    fn store(&self, run: &Run) -> Result<(), JournalError>;

    /// Returns the records from `from` to `to`, up to about `max_bytes` but at least one, without regard to the store's end.
    /// Fails with [`JournalError::Corrupt`] if the record `from` cannot be read.
    fn run(&self, from: Seq, to: Seq, max_bytes: usize) -> Result<Run, JournalError>;

    /// Returns the first record from `from` to `to` that can be read; `None` if there is none.
    fn next_readable(&self, from: Seq, to: Seq) -> Result<Option<Seq>, JournalError>;

    /// Notes records that neither copy has any more.
    fn note_lost(&self, range: LostRange);

    /// Returns why the store must be made anew; `None` if it need not.
    fn damage(&self) -> Option<String>;

    /// Notes why the store must be made anew.
    fn report_damage(&self, reason: String);

    /// Whether the store is to be made anew because of its size. Nothing is wrong with its records.
    fn is_too_large(&self) -> bool {
        false
    }

    /// Moves the store away, and begins an empty one.
    fn renew(&self) -> Result<(), JournalError>;

    /// Removes what [`Self::renew`] has moved away, because the new store has all of it.
    fn remove_replaced(&self);

    /// Notes a fault of the journal.
    fn report(&self, fault: Health);

    /// Whether an earlier run could not write or read something, so that the page cache may differ from the disk.
    fn is_suspect(&self) -> bool;

    /// Fails if the store's file is no longer in the state directory. Then the store writes nothing more.
    fn check_place(&self) -> Result<(), JournalError>;

    /// Reports that a file of the journal is gone. Nothing is noted for the next start: another hub may have begun there.
    fn report_gone(&self, error: io::Error) -> JournalError;

    /// Handles a failed write to the log: releases the reserve on a full disk; any other error stops all writes.
    fn handle_failed_log_write(&self, error: &JournalError);

    /// Releases the reserved space. It is allocated again when the disk has room.
    fn release_reserve(&self);

    /// Reads some entries from `from` on and checks that they chain. Returns the record at which to continue.
    fn scrub_some(&self, from: Seq) -> Result<Seq, JournalError>;
}
