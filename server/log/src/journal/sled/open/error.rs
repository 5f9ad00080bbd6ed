//! Why a journal was not opened.

use std::io;

use hub_protocol::Seq;

use crate::journal::JournalError;
use crate::journal::sled::store;

/// Why a journal was not opened. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses the state directory.
    #[error("the state directory is in use by another process: stop that hubd first")]
    Locked,
    /// The journal ends before a stored record: it is a restored backup, or neither copy has the newest records.
    #[error(
        "the journal ends at record {head}, but record {synced} was stored: put the newer files back, or run `hubd adopt` to \
         continue with what is there, as with a restored backup; `hubd doctor` tells more"
    )]
    Behind {
        /// The journal's last record.
        head: Seq,
        /// The last record known to be stored.
        synced: Seq,
    },
    /// The stored data differs from the data that was written.
    #[error(
        "the journal is broken at record {at} ({reason}): `hubd doctor` shows which records can be saved, `hubd adopt` saves it"
    )]
    Broken {
        /// The first record that cannot be read.
        at: Seq,
        /// The defect, as text for the message.
        reason: String,
    },
    /// There are records, but no valid epoch file.
    #[error(
        "the file 'epoch' is missing or broken: put it back, or run `hubd adopt` to continue with the readable part of the journal"
    )]
    NoEpoch,
    /// The write-ahead log is missing; it may have contained the newest records.
    #[error(
        "the file 'wal' is missing, and what was stored last may have been only there: put it back, or run `hubd adopt` \
         to continue with the readable part of the journal"
    )]
    NoLog,
    /// The directory contains no journal, but one that another journal replaced.
    #[error(
        "there is no journal, but one was put aside as 'journal.replaced': rename it to 'journal' and run `hubd adopt` to \
         go on with what it holds, or move it elsewhere to begin anew"
    )]
    Replaced,
    /// A newer build wrote the journal.
    #[error(transparent)]
    Unsupported(JournalError),
    /// The disk is full, even without the reserve.
    #[error("the disk is full: make room and start again")]
    Full,
    /// A system call failed.
    #[error("the journal could not be opened: {0}")]
    Io(io::Error),
}

impl OpenError {
    /// Whether the storage failed, rather than the stored data being damaged.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Full)
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        store::io_error(error).into()
    }
}

impl From<JournalError> for OpenError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Full => Self::Full,
            JournalError::Io(error) => Self::Io(error),
            JournalError::Corrupt { at, reason } => Self::Broken { at, reason },
            error @ JournalError::Unsupported { .. } => Self::Unsupported(error),
            // A local journal fails with none of these.
            error @ (JournalError::UnknownKind { .. }
            | JournalError::Deposed
            | JournalError::Unsettled) => Self::Io(io::Error::other(error)),
        }
    }
}
