//! A store that is only read, for the records that the segments lack.

use hub_protocol::Seq;

use super::lost::LostRanges;
use super::open::open_with_room;
use super::read;
use super::store::BlockStore;
use super::{Files, OpenError, Options};
use crate::journal::JournalError;
use crate::journal::disk::Run;

/// The readable part of a store.
pub(in crate::journal) struct Donor {
    store: BlockStore,
    lost_ranges: LostRanges,
}

impl Donor {
    /// Opens sled's directory; `None` if there is none, or sled cannot open it.
    pub(in crate::journal) fn open(
        files: &Files,
        options: Options,
    ) -> Result<Option<Self>, OpenError> {
        if !files.db().exists() {
            return Ok(None);
        }
        let lost_ranges = LostRanges::default();
        match open_with_room(&files.journal(), options.checks.fdatasync) {
            Ok(store) => Ok(Some(Self { store, lost_ranges })),
            Err(OpenError::Full) => Err(OpenError::Full),
            Err(error) => {
                tracing::warn!(%error, "sled's directory cannot be read");
                Ok(None)
            }
        }
    }

    /// Returns the records from `from` on, up to about `max_bytes` but at least one.
    pub(in crate::journal) fn run(&self, from: Seq, max_bytes: usize) -> Result<Run, JournalError> {
        let run = || read::run(&self.store, &self.lost_ranges, (from, LAST), max_bytes);
        super::store::caught(run)
    }

    /// Returns the first record from `from` on that can be read.
    pub(in crate::journal) fn next_readable(&self, from: Seq) -> Result<Option<Seq>, JournalError> {
        let next = || read::next_readable(&self.store, &self.lost_ranges, (from, LAST));
        super::store::caught(next)
    }
}

const LAST: Seq = Seq::MAX - 1;
