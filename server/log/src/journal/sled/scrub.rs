//! The scrubber: a background thread that updates the epoch file every second and slowly verifies all blocks.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hub_core::sync::PeriodicThread;
use hub_protocol::Seq;

use super::SledShared;
use super::store::{self, BlockStore, ReadError};
use crate::journal::{Health, JournalError};

const EVERY: Duration = Duration::from_secs(1);
/// The number of rounds in which the whole journal is verified: half an hour. A round verifies at least `FEWEST`
/// blocks.
const ROUNDS: u64 = 1800;
const FEWEST: u64 = 64;
/// An estimate, to compute how many blocks a round verifies.
const RECORDS_PER_BLOCK: u64 = 8;

/// Starts the thread.
pub(super) fn start(shared: &Arc<SledShared>) -> io::Result<PeriodicThread> {
    let shared = Arc::clone(shared);
    PeriodicThread::start("scrubber", EVERY, move |rounds| {
        let mut at = shared.earliest();
        while rounds.wait_for_next() {
            at = round(&shared, at);
        }
    })
}

/// Does the work of one second. Returns the record at which the next round continues.
fn round(shared: &SledShared, at: Seq) -> Seq {
    if shared.is_failed() {
        return at;
    }
    if let Err(error) = shared.check_place() {
        shared.report_gone(error);
        return at;
    }
    if let Err(error) = shared.mark() {
        shared.fail(&error);
    }
    // Check the free space here, because another program may fill the disk while no publish checks it.
    shared.space.has_room(0);
    shared.health();
    let (earliest, head) = (shared.earliest(), shared.head());
    let at = if at < earliest || at > head {
        earliest
    } else {
        at
    };
    let blocks = FEWEST.max(head.saturating_sub(earliest) / RECORDS_PER_BLOCK / ROUNDS);
    match shared.scrub_some(at, usize::try_from(blocks).unwrap_or(usize::MAX)) {
        Ok(next) => next,
        Err(JournalError::Corrupt { at: broken, reason }) => {
            tracing::error!(at = broken, reason, "the journal is corrupt");
            shared.report(Health::Corrupt { at: broken, reason });
            at
        }
        Err(error) => {
            tracing::warn!(%error, "the journal could not be verified");
            at
        }
    }
}

impl SledShared {
    /// Verifies `count` blocks from the record `from` on. Returns the record at which to continue. Lost records are
    /// recorded and skipped.
    pub(super) fn scrub_some(&self, from: Seq, count: usize) -> Result<Seq, JournalError> {
        let (earliest, head) = (self.earliest(), self.head());
        let from = from.max(earliest);
        if from > head {
            return Ok(head + 1);
        }
        let has_segments = self.epoch_file.last().has_segments();
        let found = self.with_store(|store| match self.scrub_blocks(store, from, head, count) {
            Err(JournalError::Corrupt { reason, .. }) if has_segments => {
                if self.earliest() == earliest && self.head() >= head {
                    self.report_damage(reason);
                }
                Ok(head + 1)
            }
            Err(JournalError::Corrupt { at, reason }) => self.step_over(store, at, head, &reason),
            found => found,
        });
        // The records may have been trimmed meanwhile; then they are not missing.
        if found.is_err() && self.earliest() != earliest {
            return Ok(self.earliest());
        }
        found
    }

    fn scrub_blocks(
        &self,
        store: &BlockStore,
        from: Seq,
        head: Seq,
        count: usize,
    ) -> Result<Seq, JournalError> {
        let mut at = from;
        let blocks = store.checked_blocks(from, self.options.checks.chain)?;
        for (number, checked) in blocks.enumerate() {
            let checked = checked?;
            self.lost_ranges.note_recorded(&checked.block);
            at = checked.next;
            if !checked.is_whole {
                continue;
            }
            if checked.block.last() >= head {
                return Ok(head + 1);
            }
            // The next round verifies the last block again, so that its link to the next block is checked too.
            if number >= count {
                return Ok(checked.block.last());
            }
        }
        Err(store::corrupt(at, ReadError::missing()))
    }
}
