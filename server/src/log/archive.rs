//! The archive: a second fold on its own thread, so that the writer never waits for snapshots or retention.
//!
//! It follows the journal, saves the fold when a snapshot is due, and drops the log's oldest blocks in this order. It
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
#[derive(Debug, Clone)]
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
    recovered.follow(journal, |_| {})?;
    Ok(recovered)
}

/// Folds a journal that was never trimmed, from its first record.
pub fn replay(journal: &dyn Journal) -> Result<Recovered, RecoverError> {
    let mut recovered = Recovered::empty();
    recovered.follow(journal, |_| {})?;
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
    Ok(Recovered::empty())
}

impl Recovered {
    fn empty() -> Self {
        Self {
            seq: 0,
            snapshot: 0,
            state: State::default(),
        }
    }

    /// Applies the journal's records after `seq`. Calls `seen` with the payload size of each one in bytes.
    fn follow(
        &mut self,
        journal: &dyn Journal,
        mut seen: impl FnMut(u64),
    ) -> Result<(), RecoverError> {
        while self.seq < journal.head() {
            for entry in journal.read(self.seq + 1, CHUNK)? {
                if entry.seq > self.seq + 1 {
                    demand_kept(journal, self.seq + 1)?;
                }
                self.take_in(&entry)?;
                seen(entry.payload.len() as u64);
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
fn demand_kept(journal: &dyn Journal, seq: Seq) -> Result<(), RecoverError> {
    let lost = journal.hole_at(seq).filter(|hole| !hole.settled);
    lost.map_or(Ok(()), |hole| {
        let (at, reason) = (hole.from, "it cannot be read any more".into());
        Err(JournalError::Corrupt { at, reason }.into())
    })
}

/// The archive's inputs and connections.
pub struct Parts {
    /// The journal to follow.
    pub journal: Arc<dyn Journal>,
    /// The snapshots that it reads and saves.
    pub snapshots: Snapshots,
    /// The fold to start from, see [`recover`].
    pub recovered: Recovered,
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
    records_since: u64,
    bytes_since: u64,
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
        let records_since = parts.recovered.seq - parts.recovered.snapshot;
        Self {
            parts,
            records_since,
            bytes_since: 0,
            saved_bytes: 0,
            asked: None,
            dropped: 0,
        }
    }

    /// Follows the journal, saves a snapshot if one is due, and applies retention.
    pub fn round(&mut self) -> Result<(), RecoverError> {
        self.follow()?;
        if self.is_due() {
            self.save()?;
        }
        self.retain()
    }

    /// Whether a snapshot is due. Its size grows with the pending notifications, so the new records must also have
    /// twice the size of the last snapshot.
    fn is_due(&self) -> bool {
        let due = &self.parts.due;
        let much = self.records_since >= due.records || self.bytes_since >= due.bytes;
        much && self.bytes_since >= 2 * self.saved_bytes
    }

    /// Does the last round: saves a snapshot, so that the next start reads fewer records.
    pub fn finish(&mut self) -> Result<(), RecoverError> {
        self.follow()?;
        if self.records_since > 0 {
            self.save()
        } else {
            Ok(())
        }
    }

    fn follow(&mut self) -> Result<(), RecoverError> {
        let (mut records, mut bytes) = (0, 0);
        let followed = self.parts.recovered.follow(&*self.parts.journal, |size| {
            records += 1;
            bytes += size;
        });
        self.records_since += records;
        self.bytes_since += bytes;
        followed
    }

    fn save(&mut self) -> Result<(), RecoverError> {
        // The remaining space is for acknowledgements. Without a snapshot the next start only reads more records.
        if self.parts.journal.health() == Health::Full {
            return Ok(());
        }
        self.save_now()
    }

    /// Saves the fold even if the disk is full.
    fn save_now(&mut self) -> Result<(), RecoverError> {
        let recovered = &self.parts.recovered;
        // Allocate a little more than the last size, because a growing buffer is copied repeatedly.
        let likely = self.saved_bytes + self.saved_bytes / 2;
        let mut payload = Vec::with_capacity(usize::try_from(likely).unwrap_or(0));
        let saved = serde_json::to_writer(&mut payload, &recovered.state)
            .map_err(io::Error::from)
            .and_then(|()| self.parts.snapshots.save(recovered.seq, &payload));
        saved.map_err(SnapshotError::Io)?;
        self.saved_bytes = payload.len() as u64;
        (self.records_since, self.bytes_since) = (0, 0);
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
