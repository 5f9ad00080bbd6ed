//! Deadlines: an ordered index by time.

use std::collections::BTreeSet;

use hub_protocol::Timestamp;

/// The deadlines of things of one kind, earliest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deadlines<T>(BTreeSet<(Timestamp, T)>);

impl<T> Default for Deadlines<T> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<T: Ord> FromIterator<(Timestamp, T)> for Deadlines<T> {
    fn from_iter<I: IntoIterator<Item = (Timestamp, T)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl<T: Ord> Deadlines<T> {
    pub(super) fn insert(&mut self, at: Timestamp, of: T) {
        self.0.insert((at, of));
    }

    pub(super) fn remove(&mut self, at: Timestamp, of: T) {
        self.0.remove(&(at, of));
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.0.retain(|(_, of)| keep(of));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, of)| of)
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Returns the things whose deadline is `now` or earlier.
    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = &T> {
        let due = self.0.iter().take_while(move |(at, _)| *at <= now);
        due.map(|(_, of)| of)
    }
}
