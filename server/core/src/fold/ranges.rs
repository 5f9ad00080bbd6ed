//! Sets of record numbers.

use std::collections::BTreeMap;

use hub_protocol::Seq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of numbers, stored as ranges so that dense sets need little memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    /// The first and last number of each range, both included. Ranges neither overlap nor touch.
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

    fn insert_range(&mut self, mut first: Seq, mut last: Seq) {
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

    fn remove_range(&mut self, first: Seq, last: Seq) {
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

    /// Adds a range to the set, or removes it.
    pub(super) fn set(&mut self, first: Seq, last: Seq, member: bool) {
        if member {
            self.insert_range(first, last);
        } else {
            self.remove_range(first, last);
        }
    }

    /// The parts of a range that are in the set, or outside it, ascending.
    pub(super) fn parts(&self, first: Seq, last: Seq, member: bool) -> Vec<(Seq, Seq)> {
        let before = self.ranges.range(..first).next_back();
        let overlapping = before.into_iter().chain(self.ranges.range(first..=last));
        let inside = overlapping
            .filter(|&(_, &end)| end >= first)
            .map(|(&start, &end)| (start.max(first), end.min(last)));
        if member {
            return inside.collect();
        }
        let mut found = Vec::new();
        let mut next = first;
        for (start, end) in inside {
            if next < start {
                found.push((next, start - 1));
            }
            next = end.saturating_add(1);
        }
        if next <= last {
            found.push((next, last));
        }
        found
    }

    /// Removes all numbers below `below` except `kept`.
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

    /// The first and last number of each range, ascending.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (Seq, Seq)> {
        self.ranges.iter().map(|(&first, &last)| (first, last))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_equal_a_set_of_numbers(steps in prop::collection::vec((0..40u64, 0..8u64, any::<bool>()), 0..40)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (first, length, member) in steps {
                let last = first + length;
                ranges.set(first, last, member);
                for number in first..=last {
                    if member { set.insert(number); } else { set.remove(&number); }
                }
            }
            prop_assert_eq!(ranges.numbers().collect::<BTreeSet<_>>(), set.clone());
            let parts = |member| ranges.parts(3, 30, member).into_iter().flat_map(|(first, last)| first..=last);
            prop_assert_eq!(parts(true).collect::<Vec<_>>(), set.range(3..=30).copied().collect::<Vec<_>>());
            prop_assert_eq!(parts(false).collect::<Vec<_>>(), (3..=30).filter(|number| !set.contains(number)).collect::<Vec<_>>());
            prop_assert!((0..60).all(|number| ranges.contains(number) == set.contains(&number)));
            let one_form: Ranges = set.into_iter().collect();
            prop_assert_eq!(ranges, one_form);
        }
    }

    #[test]
    fn a_range_may_end_at_the_largest_number() {
        let mut ranges = Ranges::default();
        ranges.set(5, Seq::MAX, true);
        ranges.set(9, Seq::MAX, false);
        assert_eq!(ranges.numbers().collect::<Vec<_>>(), [5, 6, 7, 8]);
    }
}
