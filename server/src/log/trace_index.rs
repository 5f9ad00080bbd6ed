//! The index of traces: which parts of the log concern which notifications, so that the trace of an old notification
//! reads few of them.
//!
//! It is in memory, with one or two bytes for each notification that a record is about. The archive's thread builds it,
//! after a start from the log's beginning. What it does not cover yet is read whole.

use std::collections::VecDeque;
use std::sync::Arc;

use hub_protocol::Seq;

use super::Event;
use crate::core::record::Record;

/// The payload bytes of a part: one read of a reader contains all of it.
const PART_BYTES: usize = super::CHUNK_BYTES / 4 * 3;

/// The index of the log up to one of its records.
#[derive(Debug, Default)]
pub(super) struct TraceIndex {
    parts: VecDeque<Part>,
    /// The newest part, which grows.
    open: OpenPart,
    /// The last record that the index covers.
    until: Seq,
}

/// A part of the log, from the end of the part before.
#[derive(Debug)]
struct Part {
    /// Its last record.
    last: Seq,
    /// The notifications that its records are about: for each range, ascending, the distance from the end of the one
    /// before and its length, as variable-length integers.
    concerned: Box<[u8]>,
}

#[derive(Debug, Default)]
struct OpenPart {
    bytes: usize,
    concerned: Vec<(Seq, Seq)>,
}

impl TraceIndex {
    /// Returns the last record that the index covers.
    pub(super) fn until(&self) -> Seq {
        self.until
    }

    /// Adds the next events of the log.
    pub(super) fn add(&mut self, events: &[Arc<Event>]) {
        for event in events {
            if Record::may_concern(event.kind())
                && let Some(record) = event.record()
            {
                self.open.concerned.extend(record.concerned());
            }
            self.open.bytes += event.entry().payload.len();
            self.until = event.seq();
            if self.open.bytes >= PART_BYTES {
                let OpenPart { concerned, .. } = std::mem::take(&mut self.open);
                self.parts.push_back(Part {
                    last: self.until,
                    concerned: packed(concerned),
                });
            }
        }
    }

    /// Forgets the parts below `earliest`, which the log no longer keeps.
    pub(super) fn drop_below(&mut self, earliest: Seq) {
        while self.parts.front().is_some_and(|it| it.last < earliest) {
            self.parts.pop_front();
        }
    }

    /// Returns the position at or after `after` behind which the next record that concerns one of `ids` may be: it
    /// passes over the parts that concern none of them.
    pub(super) fn pass(&self, after: Seq, ids: &[Seq]) -> Seq {
        let mut at = after;
        let first = self.parts.partition_point(|it| it.last <= after);
        for part in self.parts.range(first..) {
            if is_wanted((at, part.last), unpacked(&part.concerned), ids) {
                return at;
            }
            at = part.last;
        }
        let open = self.open.concerned.iter().copied();
        if at >= self.until || is_wanted((at, self.until), open, ids) {
            return at;
        }
        self.until
    }
}

/// Whether the part after the first and up to the second number of `of` has the record of one of `ids`, or one that
/// concerns it.
fn is_wanted(
    (after, last): (Seq, Seq),
    concerned: impl Iterator<Item = (Seq, Seq)>,
    ids: &[Seq],
) -> bool {
    let mut all = std::iter::once((after + 1, last)).chain(concerned);
    all.any(|(first, last)| ids.iter().any(|id| (first..=last).contains(id)))
}

fn packed(mut ranges: Vec<(Seq, Seq)>) -> Box<[u8]> {
    ranges.retain(|(first, last)| first <= last);
    ranges.sort_unstable();
    let mut merged: Vec<(Seq, Seq)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    let (mut bytes, mut end) = (Vec::new(), 0);
    for (first, last) in merged {
        put(&mut bytes, first - end);
        put(&mut bytes, last - first);
        end = last;
    }
    bytes.into()
}

fn unpacked(mut bytes: &[u8]) -> impl Iterator<Item = (Seq, Seq)> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let first = end + take(&mut bytes)?;
        end = first + take(&mut bytes)?;
        Some((first, end))
    })
}

/// Appends an integer in groups of seven bits, the lowest first; all but the last have the high bit.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0_u32..).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_packed_part_contains_the_numbers_that_were_put_in_and_no_others(
            ranges in vec((0..300_u64, 0..300_u64), 0..20),
            large in any::<u64>(),
        ) {
            let mut ranges = ranges;
            ranges.push((large, large));
            let has = |of: &[(Seq, Seq)], id| of.iter().any(|(first, last)| (*first..=*last).contains(&id));
            let found: Vec<_> = unpacked(&packed(ranges.clone())).collect();
            for id in (0..301).chain([large, large.wrapping_add(1)]) {
                prop_assert_eq!(has(&found, id), has(&ranges, id), "{}", id);
            }
        }
    }
}
