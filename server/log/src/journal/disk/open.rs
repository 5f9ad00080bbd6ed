//! Opens the segments: they must hold the record that the epoch file names, unless the store has it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hub_protocol::Seq;

use super::queue::Queue;
use super::repair::RepairState;
use super::segments::Segments;
use super::store::READ_BYTES;
use super::{DiskShared, LogWriter, Store, migrate};
use crate::journal::JournalError;
use crate::journal::epoch;
use crate::journal::sled::{Files, OpenError, Options, with_reserve};
use crate::journal::snapshot::{self, Snapshots};

impl DiskShared {
    pub(super) fn open(
        store: Arc<dyn Store>,
        files: &Files,
        options: Options,
    ) -> Result<Self, OpenError> {
        let anchor = store.epoch_file().last();
        let epoch = anchor.epoch;
        let release = || store.handle_failed_log_write(&JournalError::Full);
        let segments = with_reserve(release, || {
            let (size, synced) = (options.segment_bytes, options.checks.log_sync);
            Ok(Segments::open(files, Some(epoch), size, synced)?)
        })?;
        if anchor.format < epoch::FORMAT {
            with_reserve(release, || migrate::run(&*store, &segments, files))?;
        }
        let shared = Self {
            store,
            epoch,
            files: files.clone(),
            is_adopted: AtomicBool::new(false),
            segments,
            queue: Queue::default(),
            repairs: RepairState::default(),
            head: AtomicU64::new(0),
            writer: Mutex::new(LogWriter {
                active: None,
                chain: 0,
                next: 0,
                closed: false,
            }),
        };
        let release = || shared.store.handle_failed_log_write(&JournalError::Full);
        let end = with_reserve(release, || shared.find_end())?;
        let snapshots = Snapshots::on(Arc::clone(&files.disk), &files.snapshots(), epoch);
        // A snapshot contains only durable records. If one is newer than the head, the newest commits were lost.
        if let Some(synced) = snapshots.above(end.0)? {
            let head = end.0;
            return Err(OpenError::Behind { head, synced });
        }
        let folded = snapshot::newest_seq(&*files.disk, &files.snapshots());
        shared.check_newest(end, folded)?;
        if anchor.format < epoch::FORMAT {
            shared.store.epoch_file().begin_segments()?;
        }
        migrate::remove_log(files)?;
        shared.check_store(end);
        Ok(shared)
    }

    /// Finds the last record, in the segments or in the store, and the chain after it. Prepares the writer to go on there.
    fn find_end(&self) -> Result<(Seq, u32), OpenError> {
        let anchor = self.store.epoch_file().last();
        let (stored, chain) = self.store.end();
        let (logged, _) = self.store.epoch_file().logged();
        let found = self.segments.end()?;
        let mut end = (anchor.first - 1, anchor.first_chain);
        if stored > end.0 {
            end = (stored, chain);
        }
        end = { found.as_ref() }
            .filter(|it| it.head >= end.0)
            .map_or(end, |it| (it.head, it.chain));
        if self.store.damage().is_some() {
            end = self.end_in_damaged_store(end);
        }
        if end.0 < logged {
            let (head, synced) = (end.0, logged);
            return Err(OpenError::Behind { head, synced });
        }
        let mut writer = self.writer();
        if let Some(found) = found.filter(|it| it.head >= end.0) {
            // After a failure, the page cache may differ from the disk.
            let is_suspect = self.files.disk.is_there(&self.files.suspect())?;
            let anew = is_suspect || found.head > stored;
            writer.active = Some(self.segments.resume(&found, anew)?);
        } else if end.0 >= anchor.first {
            self.repairs.note_missing(end.0);
        }
        (writer.chain, writer.next) = (end.1, end.0 + 1);
        self.head.store(end.0, Ordering::Release);
        Ok(end)
    }

    /// Returns the last record, and the chain after it, of those that follow `end` in a store that is to be made anew. Its own
    /// end does not count, but the segments may have lost what it still has.
    fn end_in_damaged_store(&self, mut end: (Seq, u32)) -> (Seq, u32) {
        while let Ok(run) = self.store.run(end.0 + 1, Seq::MAX, READ_BYTES)
            && run.chain == end.1
        {
            end = run.end();
        }
        end
    }

    /// Reads the records that the newest snapshot does not contain, and those that are newer than the epoch file. Fails if one
    /// is lost, because a fold without it would be wrong, or if they are not those that the epoch file names.
    fn check_newest(&self, end: (Seq, u32), folded: Seq) -> Result<(), OpenError> {
        let (logged, expected) = self.store.epoch_file().logged();
        let first = self.earliest();
        let mut at = (folded.min(logged) + 1).max(first);
        let mut chain = (logged == end.0).then_some(end.1);
        let mut bytes = 0;
        while at <= end.0 {
            let to = if at <= logged { logged } else { end.0 };
            let run = match self.run_of_either(at, to, READ_BYTES) {
                Err(JournalError::Corrupt { .. }) if at <= folded => {
                    let next = self.next_in_either(at + 1)?;
                    at = next.unwrap_or(end.0 + 1);
                    continue;
                }
                run => run?,
            };
            if at == logged + 1 {
                chain = Some(run.chain);
            }
            if at > logged {
                bytes += run.bytes() as u64;
            }
            at = run.last() + 1;
        }
        if chain.is_some_and(|chain| chain != expected) && first <= logged {
            let reason = "the records are not those that were stored".into();
            return Err(OpenError::Broken { at: logged, reason });
        }
        self.store.epoch_file().note(end, bytes);
        Ok(())
    }

    /// Checks that the segments continue the store.
    fn check_store(&self, end: (Seq, u32)) {
        let (stored, chain) = self.store.end();
        let expected = if stored < end.0 {
            { self.segments.run(stored + 1, end.0, 0) }.map(|run| run.chain)
        } else {
            Ok(end.1)
        };
        if expected.is_ok_and(|expected| expected != chain) {
            let reason = "its records are not those of the segments".into();
            self.store.report_damage(reason);
        }
    }
}
