//! Journals and their content, for the tests of journals.

use hub_core::record::kinds;
use hub_protocol::Seq;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Entry, Journal};

/// Returns entries with payloads of these sizes, numbered from `first`.
pub(super) fn entries(first: Seq, sizes: &[usize]) -> Vec<Entry> {
    let numbered = sizes.iter().zip(first..);
    let entry = |(size, seq): (&usize, Seq)| Entry {
        seq,
        kind: kinds::NOTIFIED,
        payload: vec![u8::try_from(seq % 251).unwrap(); *size].into(),
    };
    numbered.map(entry).collect()
}

/// Appends one commit of entries with payloads of these sizes.
pub(super) fn append(journal: &dyn Journal, sizes: &[usize]) -> Vec<Entry> {
    let entries = entries(journal.head() + 1, sizes);
    journal.append(&entries).unwrap();
    entries
}

/// Appends these commits and returns all of their entries.
pub(super) fn append_all(journal: &dyn Journal, commits: &[Vec<usize>]) -> Vec<Entry> {
    let commits = commits.iter().map(|sizes| append(journal, sizes));
    commits.collect::<Vec<_>>().concat()
}

/// Reads the whole journal.
pub(super) fn all(journal: &dyn Journal) -> Vec<Entry> {
    let (mut found, mut at) = (Vec::new(), journal.earliest());
    while at <= journal.head() {
        found.extend(journal.read(at, 10_000).unwrap());
        at = found.last().unwrap().seq + 1;
    }
    found
}

/// Returns the payload sizes of up to `commits` commits: small ones, those of a block, and larger ones.
pub(super) fn sizes(largest: usize, commits: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let size = prop_oneof![4 => 1..400_usize, 2 => 400..4200_usize, 1 => 4200..largest];
    vec(vec(size, 1..6), 1..commits)
}

/// Checks that a reader with any cursor gets the next of the `stored` entries, and never nothing.
pub(super) fn is_readable_from_every_cursor(journal: &dyn Journal, stored: &[Entry], max: usize) {
    for from in 1..=journal.head() {
        let found = journal.read(from, max).unwrap();
        let rest = &stored[usize::try_from(from).unwrap() - 1..];
        assert!(!found.is_empty());
        assert_eq!(found, rest[..found.len()]);
    }
}
