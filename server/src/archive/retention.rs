//! Dropping the log's old end.

use bytes::Bytes;
use hub_protocol::{Seq, Timestamp};

use super::{Archivist, CHUNK, RecoverError};
use crate::command::Command;
use crate::journal::snapshot::SnapshotError;
use crate::journal::{Entry, JournalError};
use crate::record::{Record, notification_json};

/// One trim drops no more than this, so that what it carries stays a small commit.
const STEP_BYTES: u64 = 4 << 20;
/// The byte cap is undercut by this part of it, and the age by an hour: a trim is a record itself.
const SLACK: u64 = 16;
const SLACK_MS: i64 = 60 * 60 * 1000;
/// A trim that was not seen in the log for so long was refused or lost: ask again.
const PATIENCE_MS: i64 = 60_000;
/// A record from further in the future than this has a time that somebody made up.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What the log keeps.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Records older than this are dropped; what is pending is carried over. In milliseconds.
    pub max_age_ms: i64,
    /// Above so many bytes of records the oldest are dropped; what is pending is carried over as long as it is no more
    /// than half of what is dropped, the rest is evicted.
    pub max_bytes: u64,
    /// Nothing is dropped that a kept snapshot needs. Off only in tests.
    #[doc(hidden)]
    pub after_snapshots: bool,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            max_age_ms: 30 * DAY_MS,
            max_bytes: 1 << 30,
            after_snapshots: true,
        }
    }
}

/// What to drop, and how much of it may be written again.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    below: Seq,
    carry_bytes: u64,
}

impl Archivist {
    pub(super) fn retain(&mut self) -> Result<(), RecoverError> {
        let trimmed = self.parts.recovered.state.trimmed_below();
        if trimmed > self.dropped && !self.drop_below(trimmed)? {
            return Ok(());
        }
        let now = (self.parts.clock)();
        if self
            .asked
            .is_some_and(|(below, at)| trimmed < below && millis_between(at, now) < PATIENCE_MS)
        {
            return Ok(());
        }
        let Some(plan) = self.plan(now)? else {
            return Ok(());
        };
        let carried = self.carried(&plan)?;
        if (self.parts.submit)(Command::Trim {
            below: plan.below,
            carried,
        }) {
            self.asked = Some((plan.below, now));
        }
        Ok(())
    }

    /// Drops blocks below `bound`, whose record is in the log, unless a kept snapshot needs them; whether it did.
    fn drop_below(&mut self, bound: Seq) -> Result<bool, RecoverError> {
        if self.parts.retention.after_snapshots && !self.is_covered(bound)? {
            if self.records_since > 0 {
                self.save()?;
            }
            return Ok(false);
        }
        let journal = &self.parts.journal;
        loop {
            let before = journal.earliest();
            journal.trim(bound)?;
            if journal.earliest() == before {
                self.dropped = bound;
                return Ok(true);
            }
        }
    }

    /// Whether each of two snapshots can be built on without the records below `bound`.
    fn is_covered(&self, bound: Seq) -> Result<bool, RecoverError> {
        let oldest = self
            .parts
            .snapshots
            .oldest_seq()
            .map_err(SnapshotError::Io)?;
        Ok(oldest.is_some_and(|seq| seq + 1 >= bound))
    }

    fn plan(&self, now: Timestamp) -> Result<Option<Plan>, RecoverError> {
        let (journal, limits) = (&self.parts.journal, &self.parts.retention);
        let over = journal.bytes().saturating_sub(limits.max_bytes);
        let by_size = if over > 0 {
            over + limits.max_bytes / SLACK
        } else {
            0
        };
        let oldest = now.plus_millis(-limits.max_age_ms);
        let first = journal.read(journal.earliest(), 1)?;
        let is_due = first
            .first()
            .is_some_and(|entry| is_before(entry, oldest.plus_millis(-SLACK_MS), now));
        if by_size == 0 && (!is_due || self.is_clock_unsure(now)) {
            return Ok(None);
        }
        let is_old = |entry: &Entry| is_due && is_before(entry, oldest, now);
        self.walk(by_size.min(STEP_BYTES), is_old)
    }

    /// The bound after at least `by_size` bytes, and after what `is_old` beyond that.
    fn walk(
        &self,
        by_size: u64,
        is_old: impl Fn(&Entry) -> bool,
    ) -> Result<Option<Plan>, RecoverError> {
        let (mut at, mut bytes) = (self.parts.journal.earliest(), 0);
        'all: while at <= self.parts.recovered.seq {
            for entry in self.parts.journal.read(at, CHUNK)? {
                let must = bytes < by_size;
                if !must && (bytes >= STEP_BYTES || !is_old(&entry)) {
                    break 'all;
                }
                bytes += entry.payload.len() as u64;
                at = entry.seq + 1;
            }
        }
        let below = at.min(self.parts.recovered.seq);
        let carry_bytes = if by_size > 0 { bytes / 2 } else { u64::MAX };
        Ok((below > self.parts.journal.earliest()).then_some(Plan { below, carry_bytes }))
    }

    fn is_clock_unsure(&self, now: Timestamp) -> bool {
        self.parts
            .recovered
            .state
            .retention_paused_until()
            .is_some_and(|until| now < until)
    }

    /// What is still pending or to be answered below the bound, the newest first in line.
    fn carried(&self, plan: &Plan) -> Result<Vec<(Seq, Bytes)>, RecoverError> {
        let mut left = plan.carry_bytes;
        let mut carried = Vec::new();
        for (id, location) in self
            .parts
            .recovered
            .state
            .held_below(plan.below)
            .into_iter()
            .rev()
        {
            let json = self.json_at(location)?;
            let Some(rest) = left.checked_sub(json.len() as u64) else {
                tracing::warn!(
                    id,
                    "the log is at its byte cap: what is pending and oldest is evicted"
                );
                break;
            };
            left = rest;
            carried.push((id, json));
        }
        carried.reverse();
        Ok(carried)
    }

    fn json_at(&self, location: Seq) -> Result<Bytes, RecoverError> {
        let found = self.parts.journal.read(location, 1)?;
        let entry = found.first().filter(|entry| entry.seq == location);
        let json = entry.and_then(|entry| {
            let json = notification_json(entry.kind, &entry.payload)?;
            Some(entry.payload.slice_ref(json))
        });
        let missing = || JournalError::Corrupt {
            at: location,
            reason: "a pending notification is missing".into(),
        };
        Ok(json.ok_or_else(missing)?)
    }
}

/// Whether a record is from before `time`. One that tells no time, or an impossible one, does not hold retention up.
fn is_before(entry: &Entry, time: Timestamp, now: Timestamp) -> bool {
    let at = Record::decode(entry.kind, &entry.payload)
        .ok()
        .and_then(|record| record.at());
    at.is_none_or(|at| at < time || millis_between(now, at) > DAY_MS)
}

fn millis_between(from: Timestamp, to: Timestamp) -> i64 {
    to.as_millis() - from.as_millis()
}
