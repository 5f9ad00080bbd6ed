//! Recovers the fold: from the newest usable snapshot, and the records after it.

use std::io;

use hub_core::fold::State;
use hub_core::record::{DecodeError, Record};
use hub_protocol::Seq;

use super::CHUNK;
use crate::journal::snapshot::{SnapshotError, Snapshots};
use crate::journal::{Entry, Journal, JournalError};

/// Why the fold could not be recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The snapshots could not be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A record could not be decoded.
    #[error("record {seq}: {error}")]
    Record {
        /// The record's number.
        seq: Seq,
        /// Why its payload could not be decoded.
        error: DecodeError,
    },
    /// The oldest records were dropped, and no snapshot includes them.
    #[error(
        "no snapshot includes the records before {earliest}: put the directory 'snapshots' back, or run `hubd adopt` \
         to continue with the readable part of the journal"
    )]
    NoSnapshot {
        /// The first kept record.
        earliest: Seq,
    },
}

impl From<RecoverError> for JournalError {
    fn from(error: RecoverError) -> Self {
        match error {
            RecoverError::Journal(error) => error,
            RecoverError::Record { seq, error } => Self::Corrupt {
                at: seq,
                reason: error.to_string(),
            },
            error => io::Error::other(error.to_string()).into(),
        }
    }
}

/// A fold, and how far in the log it reaches.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// The last record that the fold includes.
    pub seq: Seq,
    /// The last record of the snapshot that it was built on; 0 without one.
    pub snapshot: Seq,
    /// The fold.
    pub state: State,
}

/// Recovers the fold from the newest usable snapshot and the records after it.
pub fn recover(journal: &dyn Journal, snapshots: &Snapshots) -> Result<Recovered, RecoverError> {
    let mut recovered = newest(journal, snapshots)?;
    recovered.follow(journal)?;
    Ok(recovered)
}

/// Folds a journal that was never trimmed, from its first record.
pub fn replay(journal: &dyn Journal) -> Result<Recovered, RecoverError> {
    let mut recovered = Recovered::default();
    recovered.follow(journal)?;
    Ok(recovered)
}

fn newest(journal: &dyn Journal, snapshots: &Snapshots) -> Result<Recovered, RecoverError> {
    let (earliest, head) = (journal.earliest(), journal.head());
    for snapshot in snapshots.usable()? {
        let snapshot = snapshot?;
        if snapshot.seq > head || snapshot.seq + 1 < earliest {
            tracing::warn!(
                seq = snapshot.seq,
                "a snapshot does not fit the journal and is passed over"
            );
            continue;
        }
        match serde_json::from_slice(&snapshot.payload) {
            Ok(state) => {
                return Ok(Recovered {
                    seq: snapshot.seq,
                    snapshot: snapshot.seq,
                    state,
                });
            }
            Err(error) => tracing::warn!(seq = snapshot.seq, %error, "a snapshot is passed over"),
        }
    }
    if earliest > 1 {
        return Err(RecoverError::NoSnapshot { earliest });
    }
    Ok(Recovered::default())
}

impl Recovered {
    /// Applies the journal's records after `seq`.
    fn follow(&mut self, journal: &dyn Journal) -> Result<(), RecoverError> {
        while self.seq < journal.head() {
            for entry in journal.read(self.seq + 1, CHUNK)? {
                if entry.seq > self.seq + 1 {
                    check_not_lost(journal, self.seq + 1)?;
                }
                self.apply(&entry)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, entry: &Entry) -> Result<(), RecoverError> {
        let seq = entry.seq;
        let record = Record::decode(entry.kind, &entry.payload)
            .map_err(|error| RecoverError::Record { seq, error })?;
        self.state.apply(seq, &record);
        self.seq = seq;
        Ok(())
    }
}

/// Fails if the record `seq` was lost after the journal was opened: a fold without it would be wrong.
pub(crate) fn check_not_lost(journal: &dyn Journal, seq: Seq) -> Result<(), RecoverError> {
    let lost = journal.lost_at(seq).filter(|range| !range.recorded);
    lost.map_or(Ok(()), |range| {
        let (at, reason) = (range.from, "it cannot be read any more".into());
        Err(JournalError::Corrupt { at, reason }.into())
    })
}
