//! Repairs: a segment from the store, and the store from the segments.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use hub_core::sync;
use hub_protocol::Seq;

use super::DiskShared;
use super::frame;
use super::segments::{Active, SegmentBuilder};
use super::store::{READ_BYTES, Run};
use crate::journal::{Health, JournalError, LostRange, Repairs};

/// The number of rounds in which all records are verified: half an hour. A round verifies at least `FEWEST` bytes.
const ROUNDS: u64 = 1800;
const FEWEST: u64 = 64 * 1024;
/// The failures after which the pause grows no more: some ten minutes.
const LONGEST_PAUSE: u32 = 10;

/// The damage that waits for its repair, and the repairs so far.
#[derive(Debug, Default)]
pub(super) struct RepairState {
    /// Records that are missing in the segments.
    missing: Mutex<BTreeSet<Seq>>,
    done: Mutex<Repairs>,
    /// Held while a copy is repaired or the store gets records, because a repair may replace the store.
    working: Mutex<()>,
    /// The record at which the verification goes on.
    verified: Mutex<Seq>,
    pause: Mutex<Pause>,
}

/// The rounds without a repair after failed ones: twice as many each time, because an attempt may read and write much.
#[derive(Debug, Default)]
struct Pause {
    failures: u32,
    left: u32,
}

impl Pause {
    /// Whether a repair is due in this round.
    fn is_over(&mut self) -> bool {
        let is_over = self.left == 0;
        self.left = self.left.saturating_sub(1);
        is_over
    }

    fn note(&mut self, is_done: bool) {
        self.failures = if is_done { 0 } else { self.failures + 1 };
        self.left = (1 << self.failures.min(LONGEST_PAUSE)) / 2;
    }
}

impl RepairState {
    pub(super) fn done(&self) -> Repairs {
        sync::lock(&self.done).clone()
    }

    /// Waits until no other thread repairs or copies.
    pub(super) fn work(&self) -> MutexGuard<'_, ()> {
        sync::lock(&self.working)
    }

    fn first_missing(&self) -> Option<Seq> {
        sync::lock(&self.missing).first().copied()
    }

    /// Notes that the segments do not have the record `seq`.
    pub(super) fn note_missing(&self, seq: Seq) {
        sync::lock(&self.missing).insert(seq);
    }

    fn note_rewritten(&self, what: String) {
        sync::lock(&self.done).segments += 1;
        self.note_repair(what);
    }

    fn note_renewed(&self, damage: Option<String>) {
        sync::lock(&self.done).stores += 1;
        if let Some(reason) = damage {
            self.note_repair(format!(
                "the store is made anew from the segments: {reason}"
            ));
        }
    }

    fn note_repair(&self, what: String) {
        tracing::warn!("{what}");
        let mut done = sync::lock(&self.done);
        done.count += 1;
        done.last = Some(what);
    }
}

impl DiskShared {
    /// Does the work of a second: verifies some records, and repairs what is damaged. `alive` is called now and then.
    pub(super) fn round(&self, alive: impl FnMut()) {
        if let Err(error) = self.round_once(alive) {
            tracing::warn!(%error, "the journal could not be verified or repaired");
        }
    }

    fn round_once(&self, alive: impl FnMut()) -> Result<(), JournalError> {
        if self.is_failed() {
            return Ok(());
        }
        let bytes = FEWEST.max(self.store.epoch_file().bytes() / ROUNDS);
        self.verify_some(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        if !sync::lock(&self.repairs.pause).is_over() {
            return Ok(());
        }
        let repaired = self.repair(alive);
        sync::lock(&self.repairs.pause).note(repaired.is_ok());
        repaired
    }

    /// Prepares the next segment if it is needed soon.
    pub(super) fn prepare_next(&self) {
        if self.needs_next()
            && let Err(error) = self.segments.prepare()
        {
            tracing::warn!(%error, "the next segment could not be prepared");
        }
    }

    /// Whether the next segment is needed soon.
    fn needs_next(&self) -> bool {
        let writer = self.writer();
        { writer.active.as_ref() }.is_none_or(Active::is_half_full)
    }

    /// Repairs what is known to be damaged. `alive` is called now and then.
    pub(super) fn repair(&self, mut alive: impl FnMut()) -> Result<(), JournalError> {
        let _working = self.repairs.work();
        let damage = self.store.damage();
        let is_renewed = damage.is_some() || self.store.is_too_large();
        if is_renewed {
            // The segments are the only copy then: all of them, before the store is moved away.
            self.verify_all(|_| alive())?;
        }
        while let Some(at) = self.repairs.first_missing() {
            self.rewrite(at)?;
            alive();
            sync::lock(&self.repairs.missing).remove(&at);
        }
        if is_renewed {
            self.store.renew()?;
            self.repairs.note_renewed(damage);
        }
        Ok(())
    }

    /// Verifies all records, and notes what is missing. `progress` gets the last verified one. Returns the first record of each
    /// part that is missing in the segments.
    pub(super) fn verify_all(
        &self,
        mut progress: impl FnMut(Seq),
    ) -> Result<Vec<Seq>, JournalError> {
        let (mut at, mut missing) = (self.earliest(), Vec::new());
        while at <= self.head() {
            let (next, is_there) = self.verify(at, READ_BYTES)?;
            if !is_there {
                missing.push(at);
            }
            at = next;
            progress(at - 1);
        }
        Ok(missing)
    }

    fn verify_some(&self, bytes: usize) -> Result<(), JournalError> {
        let mut verified = sync::lock(&self.repairs.verified);
        let earliest = self.earliest();
        let at = if *verified > self.head() {
            earliest
        } else {
            (*verified).max(earliest)
        };
        if at <= self.head() {
            (*verified, _) = self.verify(at, bytes)?;
        }
        Ok(())
    }

    /// Verifies some records from `at` on in both copies. Returns the next one, and whether the segments have them.
    fn verify(&self, at: Seq, bytes: usize) -> Result<(Seq, bool), JournalError> {
        let head = self.head();
        match self.segments.run(at, head, bytes) {
            Ok(run) => {
                self.compare(&run);
                Ok((run.last() + 1, true))
            }
            Err(_) if self.earliest() > at => Ok((self.earliest(), true)),
            Err(JournalError::Corrupt { .. } | JournalError::Io(_)) => {
                if self.store.lost().at(at).is_none() {
                    self.repairs.note_missing(at);
                }
                let next = self.segments.next_readable(at + 1)?;
                Ok((next.unwrap_or(head + 1), false))
            }
            Err(error) => Err(error),
        }
    }

    /// Compares `run` of the segments with what the store has of it.
    pub(super) fn compare(&self, run: &Run) {
        let (first, stored) = (run.entries[0].seq, self.store.head());
        let count = run.entries.partition_point(|it| it.seq <= stored);
        let (mut expected, mut at) = (&run.entries[..count], first);
        while !expected.is_empty() && self.store.damage().is_none() {
            let last = expected[expected.len() - 1].seq;
            let found = match self.store.run(at, last, usize::MAX) {
                Ok(found) => found,
                Err(error) => return self.note_unreadable(at, stored, &error),
            };
            let is_same = at > first || found.chain == run.chain;
            let Some(rest) = expected
                .strip_prefix(&found.entries[..])
                .filter(|_| is_same)
            else {
                let reason = "its records are not those of the segments".into();
                let error = JournalError::Corrupt { at, reason };
                return self.note_unreadable(at, stored, &error);
            };
            (expected, at) = (rest, found.last() + 1);
        }
    }

    /// Notes that the store did not give the record `at`, which it had when its last record was `stored`.
    fn note_unreadable(&self, at: Seq, stored: Seq, error: &JournalError) {
        let is_damage = !matches!(error, JournalError::Full);
        // The store may have been made anew meanwhile, or the record trimmed.
        let is_kept = at <= stored.min(self.store.head()) && at >= self.earliest();
        if is_damage && is_kept {
            self.store.report_damage(error.to_string());
        }
    }

    /// Writes the segment of the missing record `at` anew, if the store has what is missing there.
    fn rewrite(&self, at: Seq) -> Result<(), JournalError> {
        let in_segments = self.segments.next_readable(at)?;
        if at < self.earliest() || self.next_in_either(at)? == in_segments {
            return Ok(());
        }
        let file = self.segments.segment_of(at);
        let first = file.unwrap_or_else(|| self.earliest());
        let to = match self.segments.segment_after(at) {
            Some(next) => next - 1,
            None => self.end_active(),
        };
        let end = match file {
            Some(file) => self.segments.end_of(file)?.0,
            None => None,
        };
        let found = self.write_segments(first, to, end.map_or(at, |end| end.head.max(at)))?;
        // Else the segment can be read again, or the store does not have them either.
        if found > 0 {
            self.repairs.note_rewritten(format!(
                "{found} records from {at} on were missing in a segment, and are restored from the store"
            ));
        }
        Ok(())
    }

    /// Lets the writer begin another segment; returns the last record of the one before.
    fn end_active(&self) -> Seq {
        let mut writer = self.writer();
        writer.active = None;
        self.head()
    }

    /// Writes segments with the records `from` to `to`, with what either copy has. The first one has at least the records up
    /// to `until`. Returns the number of records that only the store had.
    fn write_segments(&self, from: Seq, to: Seq, until: Seq) -> Result<usize, JournalError> {
        let (mut built, mut restored) = (SegmentBuilder::new(&self.segments, from), 0);
        let mut at = self.earliest().max(from);
        while at <= to {
            let run = match self.segments.run(at, to, READ_BYTES) {
                Ok(run) => run,
                Err(JournalError::Corrupt { .. } | JournalError::Io(_)) => {
                    // Up to where the segments have records again.
                    let next = self.segments.next_readable(at + 1)?;
                    let end = next.map_or(to, |next| to.min(next - 1));
                    match self.store.run(at, end, READ_BYTES) {
                        Ok(run) => {
                            restored += run.entries.len();
                            run
                        }
                        Err(JournalError::Corrupt { .. }) => {
                            match self.next_in_either(at + 1)? {
                                Some(next) if next <= to => at = next,
                                _ => break,
                            }
                            continue;
                        }
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            };
            let (frame, _) = frame::encode(self.epoch, run.chain, &run.entries);
            built.add(run.entries[0].seq, &frame, at > until)?;
            at = run.last() + 1;
        }
        built.finish()?;
        Ok(restored)
    }

    /// Returns the first record from `from` on that either copy has.
    pub(super) fn next_in_either(&self, from: Seq) -> Result<Option<Seq>, JournalError> {
        let head = self.head();
        let found = [
            self.segments.next_readable(from)?,
            self.store.next_readable(from, head)?,
        ];
        let found = found.into_iter().flatten().min();
        Ok(found.filter(|next| *next <= head))
    }

    /// Returns the records from `at` to `to`, from the copy that has them.
    pub(super) fn run_of_either(
        &self,
        at: Seq,
        to: Seq,
        max_bytes: usize,
    ) -> Result<Run, JournalError> {
        let stored = self.store.head();
        let in_store = if at <= stored {
            self.store.run(at, stored.min(to), max_bytes)
        } else {
            Err(super::segments::missing(at))
        };
        let Err(store_error) = in_store else {
            return in_store;
        };
        match self.segments.run(at, to, max_bytes) {
            Ok(run) => {
                self.note_unreadable(at, stored, &store_error);
                Ok(run)
            }
            Err(JournalError::Corrupt { at: broken, reason }) => {
                self.repairs.note_missing(at);
                match store_error {
                    // A store that is to be made anew may have it.
                    JournalError::Corrupt { .. } => {
                        let run = self.store.run(at, to, max_bytes);
                        run.map_err(|_| JournalError::Corrupt { at: broken, reason })
                    }
                    error => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the next record that either copy has after `at`, which neither has, and notes the loss.
    pub(super) fn step_over(&self, at: Seq, reason: &str) -> Result<Seq, JournalError> {
        // A repair may have just moved the record from one copy to the other.
        let _working = self.repairs.work();
        if self.next_in_either(at)? == Some(at) {
            return Ok(at);
        }
        let Some(next) = self.next_in_either(at + 1)? else {
            let (reason, fault) = (reason.to_owned(), reason.to_owned());
            self.store.report(Health::Corrupt { at, reason: fault });
            return Err(JournalError::Corrupt { at, reason });
        };
        let (from, to, recorded) = (at, next - 1, false);
        if self.store.lost().note(LostRange { from, to, recorded }) {
            tracing::error!(from, to, reason, "records cannot be read any more");
        }
        Ok(next)
    }
}
