//! The archive: a second fold on a thread of its own, so that the writer never stalls for snapshots and retention.
//!
//! It follows the journal, saves the fold when due, and drops the log's old end in this order: ask the writer for a
//! [`Command::Trim`] that carries what is still pending → see its `Trimmed` record come by in the log → drop blocks,
//! never one that the older of the two snapshots kept would need.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hub_protocol::{Seq, Timestamp};

use crate::command::Command;
use crate::journal::snapshot::{SnapshotError, Snapshots};
use crate::journal::{Entry, Health, Journal, JournalError};
use crate::record::{DecodeError, Record};
use crate::state::State;

mod retention;

pub use retention::Retention;

/// How often the journal is looked at: snapshots and retention are in no hurry.
const EVERY: Duration = Duration::from_secs(1);
/// Bytes read from the journal at once.
const CHUNK: usize = 256 * 1024;

/// When the fold is saved.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotsDue {
    /// After so many records.
    pub records: u64,
    /// After so many bytes of records.
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

/// Why the fold could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The snapshots could not be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A record could not be read.
    #[error("record {seq}: {error}")]
    Record {
        /// Its number.
        seq: Seq,
        /// What is wrong.
        error: DecodeError,
    },
    /// The log's beginning is gone and no snapshot holds what was in it.
    #[error(
        "no snapshot holds what was before record {earliest}: put the directory 'snapshots' back, or run `hubd adopt` \
         to go on with what the journal still holds"
    )]
    NoSnapshot {
        /// The first record of the log.
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

/// A fold and how far it has read.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// The last record in it.
    pub seq: Seq,
    /// The last record of the snapshot it was built on, 0 without one.
    pub snapshot: Seq,
    /// The fold.
    pub state: State,
}

/// Reads the fold back: the newest sound snapshot and the rest of the log.
pub fn recover(journal: &dyn Journal, snapshots: &Snapshots) -> Result<Recovered, RecoverError> {
    let mut recovered = newest(journal, snapshots)?;
    recovered.follow(journal, |_| {})?;
    Ok(recovered)
}

/// Folds a journal that was never trimmed, from its beginning.
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

    /// Takes in what the journal has beyond; `seen` is shown the bytes of each record.
    fn follow(
        &mut self,
        journal: &dyn Journal,
        mut seen: impl FnMut(u64),
    ) -> Result<(), RecoverError> {
        while self.seq < journal.head() {
            for entry in journal.read(self.seq + 1, CHUNK)? {
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

/// What the archive works with.
pub struct Parts {
    /// The journal to follow.
    pub journal: Arc<dyn Journal>,
    /// Where snapshots go.
    pub snapshots: Snapshots,
    /// Where to begin, see [`recover`].
    pub recovered: Recovered,
    /// When to save.
    pub due: SnapshotsDue,
    /// What to keep.
    pub retention: Retention,
    /// The wall clock.
    pub clock: Box<dyn Fn() -> Timestamp + Send>,
    /// Hands a command to the writer; false where it was not taken, then it is tried again later.
    pub submit: Box<dyn Fn(Command) -> bool + Send>,
}

/// The running thread. Dropping it saves the fold once more and ends it.
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
    /// Waits for the next round; whether it is time to end.
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
    /// The size of the last snapshot.
    saved_bytes: u64,
    /// The bound of a trim that was submitted and has not come by yet, and when.
    asked: Option<(Seq, Timestamp)>,
    /// The bound below which nothing is left to drop.
    dropped: Seq,
}

impl Archivist {
    /// Before its first round.
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

    /// Follows the journal, saves the fold when due, and drops what need not be kept.
    pub fn round(&mut self) -> Result<(), RecoverError> {
        self.follow()?;
        if self.is_due() {
            self.save()?;
        }
        self.retain()
    }

    /// A snapshot is as large as what is pending: one that is not much smaller than what came since is not worth it yet.
    fn is_due(&self) -> bool {
        let due = &self.parts.due;
        let much = self.records_since >= due.records || self.bytes_since >= due.bytes;
        much && self.bytes_since >= 2 * self.saved_bytes
    }

    /// The last round: what the next start need not read again is saved.
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
        // The room that is left is for acknowledgements: without a snapshot the next start only reads more of the log.
        if self.parts.journal.health() == Health::Full {
            return Ok(());
        }
        let recovered = &self.parts.recovered;
        // About as much as last time: a buffer that grows is copied again and again.
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
