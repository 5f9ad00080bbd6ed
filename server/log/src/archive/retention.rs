//! Retention: drops the oldest records of the log, by age and by size, as a log-structured file system cleans segments.
//!
//! A notification that is still pending, or an open question, is written again at the head in the commit of the
//! `Trimmed` record. So neither snapshots nor memory hold texts, and readers find all of them in the log. At the byte
//! cap, the oldest ones that do not fit are evicted; an evicted question expires. Only records that neither of the two
//! kept snapshots needs are dropped, so that the older snapshot is a real fallback.

use bytes::Bytes;
use hub_core::command::Command;
use hub_core::record::{Record, notification_json};
use hub_protocol::{Seq, Timestamp};

use super::{ArchiveWorker, CHUNK, RecoverError};
use crate::journal::snapshot::SnapshotError;
use crate::journal::{Entry, Health, JournalError};

/// The most bytes that one trim drops, so that the notifications it carries stay a small commit.
const STEP_BYTES: u64 = 4 << 20;
/// A trim goes below the byte cap by this part of it, and starts when the oldest record exceeds the age by an hour.
/// Each trim is a record itself, so trims must be rare.
const SLACK: u64 = 16;
const SLACK_MS: i64 = 60 * 60 * 1000;
/// The time after which a submitted trim that is not in the log counts as lost, and a new one is submitted.
const PATIENCE_MS: i64 = 60_000;
/// The time of a record further in the future than this is not one of this clock: it is another machine's, or that of this one
/// before it was set back.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Which records the log keeps.
#[derive(Debug, Clone, Copy)]
pub struct RetentionPolicy {
    /// The age in milliseconds above which records are dropped. Pending notifications are carried over.
    pub max_age_ms: i64,
    /// The size in bytes above which the oldest records are dropped. Pending notifications are carried over, up to
    /// half of the dropped bytes; the oldest ones beyond that are evicted.
    pub max_bytes: u64,
}

/// The bound below which to drop, and how many bytes of notifications may be carried.
#[derive(Debug, PartialEq, Eq)]
struct TrimPlan {
    below: Seq,
    carry_bytes: u64,
    by_age: bool,
}

impl ArchiveWorker {
    pub(super) fn retain(&mut self) -> Result<(), RecoverError> {
        let trimmed = self.view.followed().state.retention.below();
        if trimmed > self.journal().earliest() && !self.drop_below(trimmed)? {
            return Ok(());
        }
        let now = (self.inputs.clock)();
        if self
            .requested
            .is_some_and(|(below, at)| trimmed < below && millis_between(at, now) < PATIENCE_MS)
        {
            return Ok(());
        }
        // A trimmed record that still exists waits for a snapshot; another trim would not change that.
        let Some(plan) = self.plan(now)?.filter(|plan| plan.below > trimmed) else {
            return Ok(());
        };
        if self.submit(&plan)? {
            self.requested = Some((plan.below, now));
        }
        Ok(())
    }

    /// Drops blocks below `bound`, whose `Trimmed` record is in the log, unless a kept snapshot needs them. Returns
    /// whether none does. What the journal keeps, because a block is whole or a repair needs it, is tried again.
    fn drop_below(&mut self, bound: Seq) -> Result<bool, RecoverError> {
        if !self.is_covered(bound)? {
            if self.since_snapshot().0 > 0 {
                // On a full disk, only this snapshot allows blocks to be dropped.
                self.save_now()?;
            } else if self.journal().health() == Health::Full {
                self.trim_one_more(bound)?;
            }
            return Ok(false);
        }
        let journal = self.journal();
        loop {
            let before = journal.earliest();
            journal.trim(bound)?;
            if journal.earliest() == before {
                return Ok(true);
            }
        }
    }

    /// Submits a trim of one more record. Blocks are dropped only after a second snapshot, and a snapshot needs a new
    /// record; on a full disk, this trim may be the only new record.
    fn trim_one_more(&mut self, bound: Seq) -> Result<(), RecoverError> {
        let plan = TrimPlan {
            below: bound + 1,
            carry_bytes: u64::MAX,
            by_age: false,
        };
        self.submit(&plan).map(drop)
    }

    /// Submits a trim with the notifications that it carries. Returns whether the writer accepted it.
    fn submit(&self, plan: &TrimPlan) -> Result<bool, RecoverError> {
        let (below, rewritten) = (plan.below, self.rewritten(plan)?);
        Ok((self.submit)(Command::Trim {
            below,
            rewritten,
            by_age: plan.by_age,
        }))
    }

    /// Whether both kept snapshots include all records below `bound`.
    fn is_covered(&self, bound: Seq) -> Result<bool, RecoverError> {
        let oldest = self.inputs.snapshots.oldest_seq();
        let oldest = oldest.map_err(SnapshotError::Io)?;
        Ok(oldest.is_some_and(|seq| seq + 1 >= bound))
    }

    fn plan(&mut self, now: Timestamp) -> Result<Option<TrimPlan>, RecoverError> {
        let first = self.first_time(now)?;
        let (journal, limits) = (self.journal(), &self.inputs.retention);
        let over = journal.bytes().saturating_sub(limits.max_bytes);
        let by_size = if over > 0 {
            over + limits.max_bytes / SLACK
        } else {
            0
        };
        let oldest = now.plus_millis(-limits.max_age_ms);
        let is_due = first.is_some_and(|at| at < oldest.plus_millis(-SLACK_MS));
        let by_age = by_size == 0;
        if by_age && (!is_due || self.view.followed().state.retention.is_paused(now)) {
            return Ok(None);
        }
        let is_old = |entry: &Entry| match by_age.then(|| time_of(entry, now)) {
            Some(None) => (entry.seq < self.dated).then_some(true),
            Some(Some(at)) => Some(at < oldest),
            None => Some(false),
        };
        self.plan_to_drop(by_size.min(STEP_BYTES), is_old)
    }

    /// Returns the time of the first record that has one. It looks at a part of the log, and goes on there in the next round.
    fn first_time(&mut self, now: Timestamp) -> Result<Option<Timestamp>, RecoverError> {
        // The first record that is looked at has one, but for a clock that was set back.
        for bytes in [1, CHUNK] {
            let from = self.dated.max(self.journal().earliest());
            for entry in self.journal().read(from, bytes)? {
                self.dated = entry.seq;
                if let Some(at) = time_of(&entry, now) {
                    return Ok(Some(at));
                }
            }
        }
        Ok(None)
    }

    /// Plans to drop at least `by_size` bytes; if that is 0, records as long as `is_old` does not deny it. Those of which it
    /// knows nothing are as old as the next one of which it does.
    fn plan_to_drop(
        &self,
        by_size: u64,
        is_old: impl Fn(&Entry) -> Option<bool>,
    ) -> Result<Option<TrimPlan>, RecoverError> {
        let mut next = self.journal().earliest();
        let (mut below, mut bytes) = (next, 0);
        let followed = self.view.followed().seq;
        'all: while next <= followed {
            for entry in self.journal().read(next, CHUNK)? {
                let must = bytes < by_size;
                let is_old = is_old(&entry);
                if !must && (bytes >= STEP_BYTES || is_old == Some(false)) {
                    break 'all;
                }
                bytes += entry.payload.len() as u64;
                next = entry.seq + 1;
                if must || is_old.is_some() {
                    below = next;
                }
            }
        }
        let below = below.min(followed);
        let by_age = by_size == 0;
        let carry_bytes = if by_age { u64::MAX } else { bytes / 2 };
        Ok((below > self.journal().earliest()).then_some(TrimPlan {
            below,
            carry_bytes,
            by_age,
        }))
    }

    /// Returns the pending notifications and open questions below the bound, in order. The newest take precedence if
    /// not all fit.
    fn rewritten(&self, plan: &TrimPlan) -> Result<Vec<(Seq, Bytes)>, RecoverError> {
        let mut remaining = plan.carry_bytes;
        let mut carried = Vec::new();
        let pending = self.view.followed().state.needed_below(plan.below);
        for (id, location) in pending.into_iter().rev() {
            let Some(json) = self.json_at(location)? else {
                tracing::warn!(
                    id,
                    "a pending notification was lost with its record: it is evicted"
                );
                continue;
            };
            let Some(rest) = remaining.checked_sub(json.len() as u64) else {
                tracing::warn!(
                    id,
                    "the log is at its byte cap: the oldest pending notification is evicted"
                );
                break;
            };
            remaining = rest;
            carried.push((id, json));
        }
        carried.reverse();
        Ok(carried)
    }

    /// Returns the JSON of the notification at `location`; `None` if its record is lost.
    fn json_at(&self, location: Seq) -> Result<Option<Bytes>, RecoverError> {
        let found = self.journal().read(location, 1)?;
        let entry = found.first().filter(|entry| entry.seq == location);
        let json = entry.and_then(|entry| {
            let json = notification_json(entry.kind, &entry.payload)?;
            Some(entry.payload.slice_ref(json))
        });
        if json.is_none() && self.journal().lost_at(location).is_none() {
            let reason = "a pending notification is missing".into();
            let at = location;
            return Err(JournalError::Corrupt { at, reason }.into());
        }
        Ok(json)
    }
}

/// Returns the record's time; `None` without one by this clock.
fn time_of(entry: &Entry, now: Timestamp) -> Option<Timestamp> {
    let at = Record::decode(entry.kind, &entry.payload).ok()?.at()?;
    (millis_between(now, at) <= DAY_MS).then_some(at)
}

fn millis_between(from: Timestamp, to: Timestamp) -> i64 {
    to.as_millis() - from.as_millis()
}
