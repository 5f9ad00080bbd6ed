//! Stored records that can no longer be read: readers skip them and get the records around them.

use std::sync::{Mutex, PoisonError};

use hub_protocol::Seq;

use super::Shared;
use super::store::{Probe, Store};
use crate::core::durable;
use crate::log::journal::{Hole, JournalError};

/// How many numbers are tried one by one after a broken block; more than the records of several pages.
const NEAR: u64 = 4096;

/// The lost records found so far, in no order.
#[derive(Debug, Default)]
pub(super) struct Holes(Mutex<Vec<Hole>>);

impl Holes {
    pub(super) fn at(&self, seq: Seq) -> Option<Hole> {
        let holes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let around = |hole: &&Hole| (hole.from..=hole.to).contains(&seq);
        holes.iter().find(around).copied()
    }

    pub(super) fn all(&self) -> Vec<Hole> {
        let holes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = holes.clone();
        all.sort_by_key(|hole| hole.from);
        all
    }

    /// Adds a range of lost records. Returns whether it overlaps no known range.
    pub(super) fn note(&self, new: Hole) -> bool {
        let mut holes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let overlaps = |hole: &&mut Hole| hole.from <= new.to && new.from <= hole.to;
        if let Some(known) = holes.iter_mut().find(overlaps) {
            known.from = known.from.min(new.from);
            known.to = known.to.max(new.to);
            return false;
        }
        holes.push(new);
        true
    }
}

impl Shared {
    /// Returns the next readable record after `from`, which cannot be read, and reports the loss. Fails if no record
    /// up to `head` can be read.
    pub(super) fn step_over(
        &self,
        store: &Store,
        from: Seq,
        head: Seq,
        reason: &str,
    ) -> Result<Seq, JournalError> {
        let next = next_readable(store, from + 1, head)?;
        // A record below the earliest one was trimmed meanwhile; it is not lost.
        let Some(next) = next.filter(|_| from >= self.earliest()) else {
            let reason = reason.to_owned();
            return Err(JournalError::Corrupt { at: from, reason });
        };
        let to = next - 1;
        let hole = Hole {
            from,
            to,
            settled: false,
        };
        if self.holes.note(hole) {
            tracing::error!(
                from,
                to,
                reason,
                "records cannot be read any more and are stepped over; the next start copies the rest"
            );
            let text = format!("records {from} to {to} cannot be read any more: {reason}\n");
            if let Err(error) = durable::replace(&self.files.suspect(), &[text.as_bytes()]) {
                tracing::warn!(%error, "the loss could not be noted for the next start");
            }
        }
        Ok(next)
    }
}

/// Returns the first record at or after `from` whose block can be read and begins with a whole record; `None` if
/// there is none up to `head`.
pub(super) fn next_readable(
    store: &Store,
    from: Seq,
    head: Seq,
) -> Result<Option<Seq>, JournalError> {
    let (mut at, mut step) = (from, 1);
    while at <= head {
        match store.probe(at)? {
            Probe::Nothing => return Ok(None),
            Probe::Part(first) => (at, step) = (first + 1, 1),
            Probe::Block(first) if step == 1 => return Ok(Some(first).filter(|it| *it <= head)),
            Probe::Block(_) => return boundary(store, at - step, at, head),
            Probe::Broken => {
                if at - from >= NEAR {
                    step *= 2;
                }
                at = if at == head {
                    head + 1
                } else {
                    head.min(at.saturating_add(step))
                };
            }
        }
    }
    Ok(None)
}

/// Returns the first readable record between `broken` and `good`, by binary search.
fn boundary(
    store: &Store,
    mut broken: Seq,
    mut good: Seq,
    head: Seq,
) -> Result<Option<Seq>, JournalError> {
    while good - broken > 1 {
        let middle = broken + (good - broken) / 2;
        match store.probe(middle)? {
            Probe::Broken => broken = middle,
            _ => good = middle,
        }
    }
    next_readable(store, good, head)
}
