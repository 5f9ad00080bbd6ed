//! The archive: a second fold on its own thread, so that the writer never waits for snapshots or retention.
//!
//! It follows the journal, saves the fold when a snapshot is due, and drops the log's oldest blocks in this order. It
//! asks the writer for a [`Command::Trim`] that carries the pending notifications, waits for the `Trimmed` record in
//! the log, and drops the blocks below it, except those that the older of the two kept snapshots needs.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hub_protocol::{Seq, Timestamp};

use crate::core::command::Command;
use crate::core::sync::{PeriodicThread, Rounds};
use crate::log::journal::snapshot::{SnapshotError, Snapshots};
use crate::log::journal::{Health, Journal};

mod recover;
mod retention;

pub use recover::{RecoverError, Recovered, recover, replay};
pub use retention::RetentionPolicy;

/// The interval between rounds; snapshots and retention are not urgent.
const EVERY: Duration = Duration::from_secs(1);
/// Bytes read from the journal at once.
const CHUNK: usize = 256 * 1024;

/// When a snapshot of the fold is due: at the first of two limits.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotPolicy {
    /// The number of records since the last snapshot.
    pub records: u64,
    /// The size of these records in bytes.
    pub bytes: u64,
}

/// The journal that the archive follows, and its limits.
pub struct ArchiveInputs {
    /// The journal to follow.
    pub journal: Arc<dyn Journal>,
    /// The snapshots that it reads and saves.
    pub snapshots: Snapshots,
    /// The fold to start from, see [`recover`].
    pub recovered: Recovered,
    /// When to save a snapshot.
    pub due: SnapshotPolicy,
    /// Which records to keep.
    pub retention: RetentionPolicy,
    /// Returns the current wall-clock time.
    pub clock: Box<dyn Fn() -> Timestamp + Send>,
}

/// Submits a command to the writer. Returns `false` if the writer refused it; the archive then retries later.
pub type Submit = Box<dyn Fn(Command) -> bool + Send>;

/// A handle to the thread. Dropping it saves a last snapshot and ends the thread.
#[derive(Debug)]
pub struct Archive {
    _thread: PeriodicThread,
}

impl Archive {
    /// Starts the thread.
    pub fn spawn(inputs: ArchiveInputs, submit: Submit) -> io::Result<Self> {
        let mut worker = ArchiveWorker::new(inputs, submit);
        let run = move |rounds: &Rounds| {
            while rounds.wait_for_next() {
                if let Err(error) = worker.round() {
                    tracing::error!(%error, "snapshots and retention stand still");
                }
            }
            if let Err(error) = worker.finish() {
                tracing::error!(%error, "the last snapshot could not be saved");
            }
        };
        Ok(Self {
            _thread: PeriodicThread::start("archive", EVERY, run)?,
        })
    }
}

/// The work of the thread, one round at a time.
pub struct ArchiveWorker {
    inputs: ArchiveInputs,
    submit: Submit,
    records_since: u64,
    bytes_since: u64,
    /// The size of the last snapshot in bytes.
    saved_bytes: u64,
    /// The bound and the time of a submitted trim whose record has not been read from the log yet.
    requested: Option<(Seq, Timestamp)>,
    /// The bound below which all droppable blocks were dropped.
    dropped: Seq,
}

impl ArchiveWorker {
    /// Prepares the archive; [`Self::round`] does the work.
    pub fn new(inputs: ArchiveInputs, submit: Submit) -> Self {
        let records_since = inputs.recovered.seq - inputs.recovered.snapshot;
        Self {
            inputs,
            submit,
            records_since,
            bytes_since: 0,
            saved_bytes: 0,
            requested: None,
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
        let due = &self.inputs.due;
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
        let followed = self.inputs.recovered.follow(&*self.inputs.journal, |size| {
            records += 1;
            bytes += size;
        });
        self.records_since += records;
        self.bytes_since += bytes;
        followed
    }

    fn save(&mut self) -> Result<(), RecoverError> {
        // The remaining space is for acknowledgements. Without a snapshot the next start only reads more records.
        if self.inputs.journal.health() == Health::Full {
            return Ok(());
        }
        self.save_now()
    }

    /// Saves the fold even if the disk is full.
    fn save_now(&mut self) -> Result<(), RecoverError> {
        let recovered = &self.inputs.recovered;
        // Allocate a little more than the last size, because a growing buffer is copied repeatedly.
        let likely = self.saved_bytes + self.saved_bytes / 2;
        let mut payload = Vec::with_capacity(usize::try_from(likely).unwrap_or(0));
        let saved = serde_json::to_writer(&mut payload, &recovered.state)
            .map_err(io::Error::from)
            .and_then(|()| self.inputs.snapshots.save(recovered.seq, &payload));
        saved.map_err(SnapshotError::Io)?;
        self.saved_bytes = payload.len() as u64;
        (self.records_since, self.bytes_since) = (0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
