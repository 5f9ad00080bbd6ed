//! Sets of numbers.

use std::collections::BTreeMap;

use hub_protocol::Seq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of numbers kept as ranges, so that dense sets cost little.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    /// First to last, both included; ranges neither overlap nor touch.
    ranges: BTreeMap<Seq, Seq>,
}

impl Ranges {
    pub(super) fn contains(&self, number: Seq) -> bool {
        self.ranges
            .range(..=number)
            .next_back()
            .is_some_and(|(_, &last)| number <= last)
    }

    pub(super) fn insert(&mut self, number: Seq) {
        self.insert_range(number, number);
    }

    pub(super) fn insert_range(&mut self, mut first: Seq, mut last: Seq) {
        if first > last {
            return;
        }
        if let Some((&before, &end)) = self.ranges.range(..=first).next_back()
            && end.saturating_add(1) >= first
        {
            first = before;
        }
        while let Some((&start, &end)) = self.ranges.range(first..=last.saturating_add(1)).next() {
            self.ranges.remove(&start);
            last = last.max(end);
        }
        self.ranges.insert(first, last);
    }

    pub(super) fn remove(&mut self, number: Seq) {
        self.remove_range(number, number);
    }

    pub(super) fn remove_range(&mut self, first: Seq, last: Seq) {
        if first > last {
            return;
        }
        if let Some((&start, &end)) = self.ranges.range(..first).next_back()
            && end >= first
        {
            self.ranges.insert(start, first - 1);
            if end > last {
                self.ranges.insert(last + 1, end);
            }
        }
        while let Some((&start, &end)) = self.ranges.range(first..=last).next() {
            self.ranges.remove(&start);
            if end > last {
                self.ranges.insert(last + 1, end);
            }
        }
    }

    /// Whether the whole range is in the set.
    pub(super) fn covers(&self, first: Seq, last: Seq) -> bool {
        self.ranges
            .range(..=first)
            .next_back()
            .is_some_and(|(_, &end)| last <= end)
    }

    /// Whether anything of the range is in the set.
    pub(super) fn touches(&self, first: Seq, last: Seq) -> bool {
        self.contains(first) || self.ranges.range(first..=last.max(first)).next().is_some()
    }

    /// Removes everything below `below` but for `kept`.
    pub(super) fn trim(&mut self, below: Seq, kept: &[Seq]) {
        let kept: Vec<Seq> = kept
            .iter()
            .copied()
            .filter(|&number| self.contains(number))
            .collect();
        self.remove_range(0, below.saturating_sub(1));
        for number in kept {
            self.insert(number);
        }
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = Seq> {
        self.ranges.iter().flat_map(|(&first, &last)| first..=last)
    }
}

impl FromIterator<Seq> for Ranges {
    fn from_iter<I: IntoIterator<Item = Seq>>(numbers: I) -> Self {
        let mut ranges = Self::default();
        for number in numbers {
            ranges.insert(number);
        }
        ranges
    }
}

impl Serialize for Ranges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.ranges)
    }
}

impl<'de> Deserialize<'de> for Ranges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut ranges = Self::default();
        for (first, last) in Vec::<(Seq, Seq)>::deserialize(deserializer)? {
            ranges.insert_range(first, last);
        }
        Ok(ranges)
    }
}
