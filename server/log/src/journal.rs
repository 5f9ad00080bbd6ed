//! The journal: an append-only log of durable records, readable from any position.
//!
//! A backend is a [`Journal`]: [`memory`], or [`disk`] with two copies, in segments and in [`sled`]. One thread appends;
//! any thread reads. The files of a journal on disk are listed in [`sled::Files`]; each format is described in the
//! module that reads it: [`epoch`], [`block`], [`snapshot`], `disk/frame.rs`.

use std::io;

use bytes::Bytes;
use hub_protocol::{Epoch, Seq};

pub mod block;
pub mod disk;
pub mod epoch;
pub mod memory;
pub mod sled;
pub mod snapshot;
#[cfg(test)]
mod testing;

/// A record in its stored form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The record's number.
    pub seq: Seq,
    /// The record's kind byte, see [`hub_core::record::kinds`].
    pub kind: u8,
    /// The record's payload: JSON, or for a notification the format in [`hub_core::record`].
    pub payload: Bytes,
}

/// Why a journal operation failed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk is full. Reads still work, and a later append may succeed.
    #[error("the disk is full")]
    Full,
    /// A read or write of the storage failed. After a write error, the entries may or may not be on the disk.
    #[error("storage failed: {0}")]
    Io(io::Error),
    /// The stored data differs from the data that was written.
    #[error("the journal is corrupt at record {at}: {reason}")]
    Corrupt {
        /// The first record that cannot be read.
        at: Seq,
        /// The defect, as text for the error message.
        reason: String,
    },
    /// A newer version of hubd wrote the record. Nothing of its commit is stored.
    #[error(
        "record {at} is of kind {kind}, which this version of hubd ({}) does not know: install the version of the active hub here",
        env!("CARGO_PKG_VERSION")
    )]
    UnknownKind {
        /// The record.
        at: Seq,
        /// Its kind byte.
        kind: u8,
    },
    /// Another hub appended first: nothing of the commit is stored.
    #[error("another hub of the cluster is active")]
    Deposed,
    /// No acknowledgement arrived: the commit may or may not be stored.
    #[error("NATS did not confirm the commit")]
    Unsettled,
    /// A newer version of hubd wrote the journal.
    #[error(
        "the journal has format {found}; this version of hubd reads up to {known}: install a newer one"
    )]
    Unsupported {
        /// The journal's format version.
        found: u32,
        /// The newest format version that this build can read.
        known: u32,
    },
}

// Not `#[from]`, because the message already contains the error, and `thiserror` would print the source again.
impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A range of stored records that can no longer be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostRange {
    /// The first lost record.
    pub from: Seq,
    /// The last lost record.
    pub to: Seq,
    /// Whether a block stands for the lost records: the loss was known at the start, and the fold accounts for it.
    pub recorded: bool,
}

/// The condition of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// The journal works without restrictions.
    Sound,
    /// Disk space is short: the journal refuses publishes, and still accepts small records that must be kept (acks).
    Full,
    /// Another hub appends to this log, or this one cannot be sure that it still may: it only follows.
    Standby,
    /// The stored data differs from the data that was written; the journal refuses every append.
    Corrupt {
        /// The first record that cannot be read.
        at: Seq,
        /// The defect, as text for people.
        reason: String,
    },
    /// A write or a sync failed; the journal refuses every append until the next start. Holds the error's text.
    Failed(String),
}

/// The repairs of a journal since it was opened: each copy of the records from the other one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repairs {
    /// How often a segment was written again from the store.
    pub segments: u64,
    /// How often the store was made anew from the segments, because it was damaged or only too large.
    pub stores: u64,
    /// The last repair of what was damaged, as text for people.
    pub last: Option<String>,
    count: u64,
}

impl Repairs {
    /// Returns the number of repairs of what was damaged.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// A commit in the log of a cluster.
#[derive(Debug, Clone)]
pub struct SharedCommit {
    /// Its position among all commits, from 1.
    pub position: u64,
    /// The hub that appended it.
    pub publisher: String,
    /// Its entries, in the form of `disk/frame.rs`.
    pub frame: Bytes,
}

/// An append-only log of entries, numbered from 1 without gaps.
pub trait Journal: Send + Sync + 'static {
    /// Returns the identity of this journal.
    fn epoch(&self) -> Epoch;

    /// Returns the number of the last durable entry, or 0 when no entry was ever stored.
    fn head(&self) -> Seq;

    /// Returns the number of the first kept entry, or `head + 1` when no entry is kept.
    fn earliest(&self) -> Seq;

    /// Stores `entries` as one commit, numbered from `head + 1`. When it returns, the commit is durable and visible
    /// to readers; after an error, no part of the commit is visible. Only one thread may call it.
    fn append(&self, entries: &[Entry]) -> Result<(), JournalError>;

    /// Returns the most bytes of entries that one commit should have. A single command may exceed it.
    fn commit_bytes(&self) -> usize {
        usize::MAX
    }

    /// Begins or ends to accept appends, in a cluster.
    fn lead(&self, _leads: bool) {}

    /// Stores commits that the active hub of the cluster appended, as many as one sync should; returns their number and
    /// their entries, without those that are stored already. The commits must continue this journal. Fails if the first
    /// one cannot be stored.
    fn follow(&self, _commits: &[SharedCommit]) -> Result<(usize, Vec<Entry>), JournalError> {
        Err(io::Error::other("this journal has no active hub to follow").into())
    }

    /// Returns entries from `from` (or from the earliest kept entry) on, up to about `max_bytes` of payload but at
    /// least one. The result is empty only when `from` is above the head. Skips lost records; [`Journal::lost_at`]
    /// reports them.
    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError>;

    /// Returns the range of lost records that contains `seq`, if a read has already found it.
    fn lost_at(&self, seq: Seq) -> Option<LostRange> {
        let around = |range: &LostRange| (range.from..=range.to).contains(&seq);
        self.lost_ranges().into_iter().find(around)
    }

    /// Returns the ranges of lost records that reads have found so far, ascending.
    fn lost_ranges(&self) -> Vec<LostRange> {
        Vec::new()
    }

    /// Returns the repairs since the journal was opened.
    fn repairs(&self) -> Repairs {
        Repairs::default()
    }

    /// Drops entries below `below`, in whole blocks only. The caller must have made a snapshot durable before.
    fn trim(&self, below: Seq) -> Result<(), JournalError>;

    /// Returns the size of the kept entries in bytes.
    fn bytes(&self) -> u64;

    /// Returns the current condition; cheap enough to call before each commit.
    fn health(&self) -> Health {
        Health::Sound
    }

    /// Writes the journal's own bookkeeping durably and closes it. Every later append is an error.
    fn close(&self) -> Result<(), JournalError>;
}

/// Panics unless the caller numbered `entries` from `next` on, because a gap would break the log for good.
pub fn assert_numbered(entries: &[Entry], next: Seq) {
    let numbered = entries.iter().zip(next..);
    assert!(
        { numbered }.all(|(entry, seq)| entry.seq == seq),
        "entries are numbered from {next} without holes"
    );
}
