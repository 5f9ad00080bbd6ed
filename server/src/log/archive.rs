//! The archive: a thread that saves snapshots and applies retention, so that the writer never waits for them.
//!
//! It follows the journal with the readers' fold (see [`View`]), saves the fold when a snapshot is due, and drops the log's oldest blocks in this order. It
//! asks the writer for a [`Command::Trim`] that carries the pending notifications, waits for the `Trimmed` record in
//! the log, and drops the blocks below it, except those that the older of the two kept snapshots needs.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hub_protocol::{Seq, Timestamp};

use crate::core::command::Command;
use crate::core::record::{DecodeError, Record};
use crate::fold::State;
use crate::log::journal::snapshot::{SnapshotError, Snapshots};
use crate::log::journal::{Entry, Health, Journal, JournalError};
use crate::log::view::View;

mod retention;

pub use retention::Retention;

/// The interval between rounds; snapshots and retention are not urgent.
const EVERY: Duration = Duration::from_secs(1);
/// Bytes read from the journal at once.
const CHUNK: usize = 256 * 1024;

/// When a snapshot of the fold is due: at the first of two limits.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotsDue {
    /// The number of records since the last snapshot.
    pub records: u64,
    /// The size of these records in bytes.
    pub bytes: u64,
}

impl Default for SnapshotsDue {
    fn default() -> Self {
        Self {
            records: 50_000,
            bytes: 16 << 20,
        }
    }
}

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
        "no snapshot holds what was before record {earliest}: put the directory 'snapshots' back, or run `hubd adopt` \
         to go on with what the journal still holds"
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
                    demand_kept(journal, self.seq + 1)?;
                }
                self.take_in(&entry)?;
            }
        }
        Ok(())
    }

    fn take_in(&mut self, entry: &Entry) -> Result<(), RecoverError> {
        let seq = entry.seq;
        let record = Record::decode(entry.kind, &entry.payload)
            .map_err(|error| RecoverError::Record { seq, error })?;
        self.state.apply(seq, &record);
        self.seq = seq;
        Ok(())
    }
}

/// Fails if the record `seq` was lost after the journal was opened: a fold without it would be wrong.
pub(super) fn demand_kept(journal: &dyn Journal, seq: Seq) -> Result<(), RecoverError> {
    let lost = journal.hole_at(seq).filter(|hole| !hole.settled);
    lost.map_or(Ok(()), |hole| {
        let (at, reason) = (hole.from, "it cannot be read any more".into());
        Err(JournalError::Corrupt { at, reason }.into())
    })
}

/// The archive's inputs and connections.
pub struct Parts {
    /// The fold to save, which follows the journal.
    pub view: Arc<View>,
    /// The last record of the snapshot that the view started from.
    pub snapshot: Seq,
    /// The snapshots that it reads and saves.
    pub snapshots: Snapshots,
    /// When to save a snapshot.
    pub due: SnapshotsDue,
    /// Which records to keep.
    pub retention: Retention,
    /// Returns the current wall-clock time.
    pub clock: Box<dyn Fn() -> Timestamp + Send>,
    /// Submits a command to the writer. Returns `false` if the writer refused it; the archive then retries later.
    pub submit: Box<dyn Fn(Command) -> bool + Send>,
}

/// A handle to the thread. Dropping it saves a last snapshot and ends the thread.
#[derive(Debug)]
pub struct Archive {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signal {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Archive {
    /// Starts the thread.
    pub fn spawn(parts: Parts) -> io::Result<Self> {
        let signal = Arc::new(Signal::default());
        let mut keeper = Archivist::new(parts);
        let shared = signal.clone();
        let thread = thread::Builder::new()
            .name("archive".into())
            .spawn(move || {
                while !shared.wait() {
                    keeper.round_or_log();
                }
                keeper.finish_or_log();
            })?;
        Ok(Self {
            signal,
            thread: Some(thread),
        })
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        *self
            .signal
            .stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.signal.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Signal {
    /// Waits for the next round. Returns whether the thread shall end.
    fn wait(&self) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(stopped, EVERY, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The work of the thread, one round at a time.
pub struct Archivist {
    parts: Parts,
    /// The last record that the last snapshot includes, and the payload bytes that the view had followed by then.
    saved: (Seq, u64),
    /// The size of the last snapshot in bytes.
    saved_bytes: u64,
    /// The bound and the time of a submitted trim whose record has not been read from the log yet.
    asked: Option<(Seq, Timestamp)>,
    /// The bound below which all droppable blocks were dropped.
    dropped: Seq,
}

impl Archivist {
    /// Prepares the archive; [`Self::round`] does the work.
    pub fn new(parts: Parts) -> Self {
        Self {
            saved: (parts.snapshot, 0),
            parts,
            saved_bytes: 0,
            asked: None,
            dropped: 0,
        }
    }

    /// Follows the journal, saves a snapshot if one is due, and applies retention.
    pub fn round(&mut self) -> Result<(), RecoverError> {
        drop(self.parts.view.follow()?);
        if self.is_due() {
            self.save()?;
        }
        self.retain()
    }

    /// The number of records that the view has followed since the last snapshot, and their size in bytes.
    fn since_snapshot(&self) -> (u64, u64) {
        let folded = self.parts.view.folded();
        (folded.seq - self.saved.0, folded.bytes - self.saved.1)
    }

    /// Whether a snapshot is due. Its size grows with the pending notifications, so the new records must also have
    /// twice the size of the last snapshot.
    fn is_due(&self) -> bool {
        let due = &self.parts.due;
        let (records, bytes) = self.since_snapshot();
        (records >= due.records || bytes >= due.bytes) && bytes >= 2 * self.saved_bytes
    }

    /// Does the last round: saves a snapshot, so that the next start reads fewer records.
    pub fn finish(&mut self) -> Result<(), RecoverError> {
        let news = self.parts.view.follow()?.seq > self.saved.0;
        if news { self.save() } else { Ok(()) }
    }

    fn journal(&self) -> &dyn Journal {
        &**self.parts.view.log().journal()
    }

    fn save(&mut self) -> Result<(), RecoverError> {
        // The remaining space is for acknowledgements. Without a snapshot the next start only reads more records.
        if self.journal().health() == Health::Full {
            return Ok(());
        }
        self.save_now()
    }

    /// Saves the fold even if the disk is full.
    fn save_now(&mut self) -> Result<(), RecoverError> {
        // Allocate a little more than the last size, because a growing buffer is copied repeatedly.
        let likely = self.saved_bytes + self.saved_bytes / 2;
        let mut payload = Vec::with_capacity(usize::try_from(likely).unwrap_or(0));
        let folded = self.parts.view.folded();
        let saved = (folded.seq, folded.bytes);
        let serialized = serde_json::to_writer(&mut payload, &folded.state);
        drop(folded);
        serialized
            .map_err(io::Error::from)
            .and_then(|()| self.parts.snapshots.save(saved.0, &payload))
            .map_err(SnapshotError::Io)?;
        self.saved_bytes = payload.len() as u64;
        self.saved = saved;
        Ok(())
    }

    fn round_or_log(&mut self) {
        if let Err(error) = self.round() {
            tracing::error!(%error, "snapshots and retention stand still");
        }
    }

    fn finish_or_log(&mut self) {
        if let Err(error) = self.finish() {
            tracing::error!(%error, "the last snapshot could not be saved");
        }
    }
}

#[cfg(test)]
mod tests;
