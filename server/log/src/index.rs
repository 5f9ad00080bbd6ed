//! The index of the log: which of its parts are about which notifications and sessions, so that the trace of an old
//! notification reads few of them, and so does an old part of a conversation.
//!
//! It is in memory, with one or two bytes for each notification that a record is about, and four for each session in a
//! part. The archive's thread builds it, after a start from the log's beginning. What it does not cover yet is read whole.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hub_core::record::Record;
use hub_protocol::{InboxName, ProjectName, Seq};

use super::Event;

/// The payload bytes of a part: one read of a reader contains all of it.
const PART_BYTES: usize = super::CHUNK_BYTES / 4 * 3;
/// The most records of a range that the index does not cover.
const STEP: u64 = 512;

/// The index of the log up to one of its records.
#[derive(Debug, Default)]
pub(super) struct LogIndex {
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
    /// The [`fingerprint`]s of the inboxes in whose conversations its records are, ascending.
    said: Box<[u32]>,
}

#[derive(Debug, Default)]
struct OpenPart {
    bytes: usize,
    concerned: Vec<(Seq, Seq)>,
    said: BTreeSet<u32>,
}

impl LogIndex {
    /// Returns the last record that the index covers.
    pub(super) fn until(&self) -> Seq {
        self.until
    }

    /// Adds the next events of the log.
    pub(super) fn add(&mut self, events: &[Arc<Event>]) {
        for event in events {
            let kind = event.kind();
            if (Record::may_concern(kind) || Record::may_be_said(kind))
                && let Some(record) = event.record()
            {
                self.open.concerned.extend(record.concerned());
                self.open.said.extend(fingerprints(record.conversations()));
            }
            self.open.bytes += event.entry().payload.len();
            self.until = event.seq();
            if self.open.bytes >= PART_BYTES {
                let OpenPart {
                    concerned, said, ..
                } = std::mem::take(&mut self.open);
                self.parts.push_back(Part {
                    last: self.until,
                    concerned: packed(concerned),
                    said: said.into_iter().collect(),
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

    /// Returns the newest range below `before` that may have records of the conversations of one of `inboxes`: its first
    /// number and its end. It passes over the parts that have none, and may begin before the log; `None` if there is none.
    pub(super) fn said_before(
        &self,
        before: Seq,
        inboxes: &[(&ProjectName, &InboxName)],
    ) -> Option<(Seq, Seq)> {
        if before > self.until + 1 {
            return Some(((self.until + 1).max(before.saturating_sub(STEP)), before));
        }
        let wanted: Vec<u32> = fingerprints(inboxes.iter().copied()).collect();
        let first_after = |parts: usize| parts.checked_sub(1).map_or(1, |n| self.parts[n].last + 1);
        let open = first_after(self.parts.len());
        if open < before && wanted.iter().any(|it| self.open.said.contains(it)) {
            return Some((open, before));
        }
        let below = self.parts.partition_point(|it| it.last + 1 < before);
        let parts = self.parts.iter().enumerate().take(below + 1).rev();
        let is_wanted = |part: &Part| wanted.iter().any(|it| part.said.binary_search(it).is_ok());
        let (n, part) = { parts }.find(|(_, part)| is_wanted(part))?;
        let (first, end) = (first_after(n), before.min(part.last + 1));
        (first < end).then_some((first, end))
    }
}

/// The inboxes as few bytes as an index can have; two that have the same cost a read.
fn fingerprints<'a>(
    inboxes: impl IntoIterator<Item = (&'a ProjectName, &'a InboxName)>,
) -> impl Iterator<Item = u32> {
    inboxes.into_iter().map(|inbox| {
        let mut hasher = DefaultHasher::new();
        inbox.hash(&mut hasher);
        (hasher.finish() >> 32) as u32
    })
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
    use hub_core::record::Notified;
    use hub_protocol::{Kind, Timestamp};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::testing::entry;
    use hub_core::testing::route;

    /// A notification of this sender, of which a part has four.
    fn said(seq: Seq, from: &str) -> Arc<Event> {
        let route = route(from, Kind::Progress, Timestamp::default());
        let json = vec![b'x'; PART_BYTES / 4].into();
        let record = Record::Notified(Notified { route, json });
        Arc::new(Event::new(entry(seq, &record), record))
    }

    /// The ranges of a sender's conversation, the newest first.
    fn ranges(index: &LogIndex, head: Seq, from: &str) -> Vec<(Seq, Seq)> {
        let place = (ProjectName::default(), from.parse().unwrap());
        let mut before = head + 1;
        let next = || {
            let range = index.said_before(before, &[(&place.0, &place.1)])?;
            before = range.0;
            Some(range)
        };
        std::iter::from_fn(next).collect()
    }

    proptest! {
        #[test]
        fn the_ranges_of_a_conversation_have_all_of_its_records(
            senders in vec(select(vec!["w1", "w2", "w3"]), 0..60),
            indexed in 0..60_usize,
        ) {
            let events: Vec<_> = (1..).zip(&senders).map(|(seq, from)| said(seq, from)).collect();
            let mut index = LogIndex::default();
            index.add(&events[..indexed.min(events.len())]);
            let found = ranges(&index, events.len() as u64, "w1");
            for (event, from) in events.iter().zip(&senders) {
                let inside = found.iter().filter(|(first, end)| (*first..*end).contains(&event.seq()));
                let times = inside.count();
                prop_assert!(times <= 1 && (*from != "w1" || times == 1), "{} {found:?}", event.seq());
            }
        }
    }

    #[test]
    fn parts_without_a_word_of_the_session_are_passed_over() {
        let mut index = LogIndex::default();
        let others = |seqs: std::ops::Range<Seq>| seqs.map(|seq| said(seq, "other"));
        let events = [said(1, "w1")].into_iter().chain(others(2..100));
        let events = events.chain([said(100, "w1")]).chain(others(101..200));
        index.add(&events.collect::<Vec<_>>());
        assert_eq!(ranges(&index, 199, "w1"), [(97, 101), (1, 5)]);
        assert_eq!(ranges(&index, 199, "nobody"), []);
    }

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
