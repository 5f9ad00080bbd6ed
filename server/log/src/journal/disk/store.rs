//! The store, as the segments need it: sled with its protections, or a model of them.

use std::io;

use hub_protocol::Seq;

use crate::journal::epoch::EpochFile;
use crate::journal::sled::LostRanges;
use crate::journal::{Entry, Health, JournalError, block};

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
    pub(crate) fn bytes(&self) -> usize {
        self.entries.iter().map(block::stored_len).sum()
    }
}

/// A copy of the segments' records. It remembers durably what the segments must contain.
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// Returns the epoch file.
    fn epoch_file(&self) -> &EpochFile;

    /// Returns the number of the last durable entry; `earliest - 1` without any.
    fn head(&self) -> Seq;

    /// Returns the number of the store's last entry and the chain after it. Waits for a commit.
    fn end(&self) -> (Seq, u32);

    /// Durably writes to the epoch file what was noted. After an error the store writes nothing more.
    fn mark(&self);

    /// Refuses `entries` after a fault, and publishes when the free space is below the floor.
    fn admit(&self, entries: &[Entry]) -> Result<(), JournalError>;

    /// Stores `run` as one commit. If it begins after the store's next number, those in between were skipped if the chain
    /// goes on, and else lost. If the disk is full, releases the reserve and tries once more. What [`Self::renew`] has moved
    /// away is removed when the store has all records again.
    fn store(&self, run: &Run) -> Result<(), JournalError>;

    /// Returns the records from `from` to `to`, up to about `max_bytes` but at least one, without regard to the store's end.
    /// Fails with [`JournalError::Corrupt`] if the record `from` cannot be read.
    fn run(&self, from: Seq, to: Seq, max_bytes: usize) -> Result<Run, JournalError>;

    /// Returns the first record from `from` to `to` that can be read; `None` if there is none.
    fn next_readable(&self, from: Seq, to: Seq) -> Result<Option<Seq>, JournalError>;

    /// Returns the records that neither copy has any more, as far as they are known.
    fn lost(&self) -> &LostRanges;

    /// Drops entries below `below`, in whole blocks only. Fails with [`JournalError::Corrupt`] if these cannot be read.
    fn trim(&self, below: Seq) -> Result<(), JournalError>;

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

    /// Returns the condition of the journal.
    fn health(&self) -> Health;

    /// Notes a fault of the journal. The first one stays, because it names the cause.
    fn report(&self, fault: Health);

    /// Fails if the store's file is no longer in the state directory.
    fn check_place(&self) -> io::Result<()>;

    /// Handles a failed write to the log: releases the reserve on a full disk, to be allocated again when the disk has room;
    /// any other error stops all writes.
    fn handle_failed_log_write(&self, error: &JournalError);

    /// Writes the store's own bookkeeping durably and closes it.
    fn close(&self) -> Result<(), JournalError>;
}
