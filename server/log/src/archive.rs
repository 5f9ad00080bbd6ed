//! The archive: a thread that saves snapshots, applies retention and indexes the log, so that the writer never waits for
//! them.
//!
//! It follows the journal with the readers' fold ([`View`]), saves that fold when a snapshot is due, and drops the log's oldest
//! blocks in this order. It asks the writer for a [`Command::Trim`] that carries the pending notifications, waits for the
//! `Trimmed` record in the log, and drops the blocks below it, except those that the older of the two kept snapshots needs.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hub_core::command::Command;
use hub_core::sync::{PeriodicThread, Rounds};
use hub_protocol::{Seq, Timestamp};

use crate::journal::snapshot::{SnapshotError, Snapshots};
use crate::journal::{Health, Journal};
use crate::view::View;

mod clock_jump;
mod loss;
mod recover;
mod retention;

pub use clock_jump::record_clock_jump;
pub(super) use recover::check_not_lost;
pub use recover::{RecoverError, Recovered, recover, replay};
pub use retention::RetentionPolicy;

/// The interval between rounds; snapshots and retention are not urgent.
const EVERY: Duration = Duration::from_secs(1);
/// Bytes read from the journal at once.
const CHUNK: usize = 256 * 1024;
/// Bytes of the log that a round adds to the index. After a start, a log of a gigabyte is in it within half a
/// minute.
const INDEXED: usize = 32 << 20;

/// When a snapshot of the fold is due: at the first of two limits.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotPolicy {
    /// The number of records since the last snapshot.
    pub records: u64,
    /// The size of these records in bytes.
    pub bytes: u64,
}

/// The inputs of the archive and its limits.
pub struct ArchiveInputs {
    /// The snapshots that it reads and saves.
    pub snapshots: Snapshots,
    /// The last record of the snapshot that the hub started from.
    pub last_snapshot: Seq,
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
    pub fn spawn(inputs: ArchiveInputs, view: Arc<View>, submit: Submit) -> io::Result<Self> {
        let mut worker = ArchiveWorker::new(inputs, view, submit);
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
    view: Arc<View>,
    submit: Submit,
    /// The last record that the last snapshot includes, and the payload bytes that the view had followed by then.
    saved: (Seq, u64),
    /// The size of the last snapshot in bytes.
    saved_bytes: u64,
    /// The bound and the time of a submitted trim whose record has not been read from the log yet.
    requested: Option<(Seq, Timestamp)>,
    /// The first record that may have a time by the clock: retention does not know the age of those before it.
    dated: Seq,
    /// The number of repairs of the journal that the person was told about.
    told_repairs: u64,
}

impl ArchiveWorker {
    /// Prepares the archive; [`Self::round`] does the work.
    pub fn new(inputs: ArchiveInputs, view: Arc<View>, submit: Submit) -> Self {
        Self {
            saved: (inputs.last_snapshot, 0),
            inputs,
            view,
            submit,
            saved_bytes: 0,
            requested: None,
            dated: 0,
            told_repairs: 0,
        }
    }

    /// Follows the journal, saves a snapshot if one is due, applies retention, and continues the index of the log.
    pub fn round(&mut self) -> Result<(), RecoverError> {
        drop(self.view.follow()?);
        if self.is_due() {
            self.save()?;
        }
        self.tell_losses();
        self.tell_repairs();
        self.retain()?;
        self.view.log().extend_index(INDEXED)?;
        Ok(())
    }

    /// The number of records that the view has followed since the last snapshot, and their size in bytes.
    fn since_snapshot(&self) -> (u64, u64) {
        let followed = self.view.followed();
        (followed.seq - self.saved.0, followed.bytes - self.saved.1)
    }

    /// Whether a snapshot is due. Its size grows with the pending notifications, so the new records must also have the size of
    /// the last snapshot.
    fn is_due(&self) -> bool {
        let due = &self.inputs.due;
        let (records, bytes) = self.since_snapshot();
        (records >= due.records || bytes >= due.bytes) && bytes >= self.saved_bytes
    }

    /// Does the last round: saves a snapshot, so that the next start reads fewer records.
    pub fn finish(&mut self) -> Result<(), RecoverError> {
        let has_news = self.view.follow()?.seq > self.saved.0;
        if has_news { self.save() } else { Ok(()) }
    }

    fn journal(&self) -> &dyn Journal {
        &**self.view.log().journal()
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
        let followed = self.view.followed();
        let saved = (followed.seq, followed.bytes);
        let serialized = serde_json::to_writer(&mut payload, &followed.state);
        drop(followed);
        serialized
            .map_err(io::Error::from)
            .and_then(|()| self.inputs.snapshots.save(saved.0, &payload))
            .map_err(SnapshotError::Io)?;
        self.saved_bytes = payload.len() as u64;
        self.saved = saved;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
