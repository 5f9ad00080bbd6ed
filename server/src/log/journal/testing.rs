//! Entries and journals for tests.

use std::sync::Arc;

use hub_protocol::{Epoch, Kind, Priority, ProjectName, Seq, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use super::memory::MemoryJournal;
use super::{Entry, Health, Journal, JournalError};
use crate::core::record::{Record, Route, Seen, kinds};

/// Returns the stored form of a record.
pub(crate) fn entry(seq: Seq, record: &Record) -> Entry {
    let (kind, payload) = record.encode();
    Entry { seq, kind, payload }
}

/// Returns the route of a notification that goes to no inbox and expires after a hundred days.
pub(crate) fn route(from: &str, kind: Kind, ts: Timestamp) -> Route {
    Route {
        project: ProjectName::default(),
        from: from.parse().unwrap(),
        kind,
        priority: Priority::Normal,
        ts,
        expires_at: ts.plus_millis(100 * 24 * 60 * 60 * 1000),
        targets: Vec::new(),
        key: None,
        session: None,
        hops: 0,
    }
}

/// Returns a record that marks a notification as read, or undoes the mark.
pub(crate) fn seen(id: Seq, seen: bool, at: Timestamp) -> Record {
    Record::Seen(Seen {
        ids: vec![id],
        up_to: None,
        ranges: Vec::new(),
        seen,
        at,
    })
}

/// A journal in memory with a health of its own, and an action before each commit and each read.
pub(crate) struct TestJournal {
    pub(crate) inner: Arc<MemoryJournal>,
    pub(crate) health: Box<dyn Fn() -> Health + Send + Sync>,
    pub(crate) before_append: Box<dyn Fn() + Send + Sync>,
    pub(crate) before_read: Box<dyn Fn() + Send + Sync>,
}

impl Journal for TestJournal {
    fn epoch(&self) -> Epoch {
        self.inner.epoch()
    }

    fn head(&self) -> Seq {
        self.inner.head()
    }

    fn earliest(&self) -> Seq {
        self.inner.earliest()
    }

    fn append(&self, entries: &[Entry]) -> Result<(), JournalError> {
        (self.before_append)();
        self.inner.append(entries)
    }

    fn read(&self, from: Seq, max_bytes: usize) -> Result<Vec<Entry>, JournalError> {
        (self.before_read)();
        self.inner.read(from, max_bytes)
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.inner.trim(below)
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn health(&self) -> Health {
        (self.health)()
    }

    fn close(&self) -> Result<(), JournalError> {
        self.inner.close()
    }
}

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
