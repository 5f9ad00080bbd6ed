//! The journal: records made durable, in order, and read back from any place.
//!
//! A backend is a [`Journal`]. One thread appends; any thread reads.

use std::io;

use bytes::Bytes;
use hub_protocol::{Epoch, Seq};

pub mod block;
pub mod disk;
pub mod durable;
pub mod epoch;
pub mod memory;
pub mod sled;
pub mod snapshot;

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub seq: Seq,
    /// Its kind byte, see [`crate::record::kinds`].
    pub kind: u8,
    /// Its payload.
    pub payload: Bytes,
}

/// Why the journal could not do it.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No space is left; reads go on, and a later append may succeed.
    #[error("the disk is full")]
    Full,
    /// The storage failed: what was being written may or may not exist.
    #[error("storage failed: {0}")]
    Io(io::Error),
    /// What is stored is not what was written.
    #[error("the journal is corrupt at record {at}: {reason}")]
    Corrupt {
        /// The first record that cannot be read.
        at: Seq,
        /// What is wrong.
        reason: String,
    },
    /// The format is of another version.
    #[error(
        "the journal has format {found}; this version of hubd reads up to {known}: install a newer one"
    )]
    Unsupported {
        /// The version found.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
}

// Not `#[from]`: the text says it already, and a source is printed after it.
impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// How a journal is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// All is well.
    Sound,
    /// Space is short: publishes are refused, what is small and must be kept (acks) is still taken.
    Full,
    /// What is stored is not what was written; nothing more is taken.
    Corrupt {
        /// The first record that cannot be read.
        at: Seq,
        /// What is wrong.
        reason: String,
    },
    /// A write or a sync failed; nothing more is taken until the next start.
    Failed(String),
}

/// An append-only log of entries, numbered from 1 without holes.
pub trait Journal: Send + Sync + 'static {
    /// The identity of this journal.
    fn epoch(&self) -> Epoch;

    /// The last durable entry, 0 when nothing was ever stored.
    fn head(&self) -> Seq;

    /// The first entry that is kept; `head + 1` when none is.
    fn earliest(&self) -> Seq;

    /// Stores `entries` as one commit, numbered from `head + 1`; durable, and visible to readers, when it returns.
    /// After an error nothing of the commit is visible. Called by one thread only.
    fn append(&self, entries: &[Entry]) -> Result<(), JournalError>;

    /// Entries from `from` (or the earliest kept) on, up to about `max_bytes` of payload but at least one; empty only
    /// when `from` is above the head.
    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError>;

    /// Drops entries below `below`, as far as whole blocks allow. The caller has made a snapshot durable before.
    fn trim(&self, below: Seq) -> Result<(), JournalError>;

    /// Bytes of stored entries that are kept.
    fn bytes(&self) -> u64;

    /// How it is now; cheap enough to be asked before each commit.
    fn health(&self) -> Health {
        Health::Sound
    }

    /// Makes what it keeps about itself durable. Appends after this are an error.
    fn close(&self) -> Result<(), JournalError>;
}

/// Numbering is the caller's part, and a hole would break the log for good.
fn assert_numbered(entries: &[Entry], next: Seq) {
    let numbered = entries.iter().zip(next..);
    assert!(
        { numbered }.all(|(entry, seq)| entry.seq == seq),
        "entries are numbered from {next} without holes"
    );
}
