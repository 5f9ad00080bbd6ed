//! Journals of every released format can be read by every later version.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use hub_core::record::{Record, Seen};
use hub_log::archive::recover;
use hub_log::journal::snapshot::Snapshots;
use hub_log::journal::{Entry, Journal};

use super::{all, copy, open};

/// 100 records and a snapshot of the first 60. In format 2 the last 40 are in the write-ahead log only.
const FORMATS: [u32; 2] = [1, 2];

pub(super) fn fixture(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/fixtures/journal-v{format}"))
}

fn record(id: u64) -> Record {
    Record::Seen(Seen {
        ids: vec![id],
        up_to: None,
        ranges: Vec::new(),
        seen: true,
        at: hub_protocol::Timestamp::from_millis(1_800_000_000_000),
    })
}

#[test]
fn a_journal_and_a_snapshot_of_every_format_are_read() {
    for format in FORMATS {
        let dir = tempfile::tempdir().unwrap();
        copy(&fixture(format), dir.path());
        let journal = open(dir.path()).unwrap();
        let found = all(&journal).unwrap();
        assert_eq!(found.len(), 100);
        for Entry { seq, kind, payload } in found {
            assert_eq!(Record::decode(kind, &payload).unwrap(), record(seq));
        }
        let snapshots = Snapshots::new(&dir.path().join("snapshots"), journal.epoch());
        let recovered = recover(&journal, &snapshots).unwrap();
        assert_eq!((recovered.snapshot, recovered.seq), (60, 100));
        assert!((1..=100).all(|id| recovered.state.seen.contains(id)));
    }
}

/// The directory must not exist yet.
#[test]
#[ignore = "writes the fixture, once a format"]
fn write_the_fixture() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path()).unwrap();
    write(&journal, 1..=60);
    let snapshots = Snapshots::new(&dir.path().join("snapshots"), journal.epoch());
    let state = recover(&journal, &snapshots).unwrap().state;
    snapshots
        .save(60, &serde_json::to_vec(&state).unwrap())
        .unwrap();
    drop(journal);
    let journal = open(dir.path()).unwrap();
    write(&journal, 61..=100);
    // Before the mover writes these records to the store.
    copy(dir.path(), &fixture(*FORMATS.last().unwrap()));
}

fn write(journal: &dyn Journal, ids: RangeInclusive<u64>) {
    for id in ids {
        let (kind, payload) = record(id).encode();
        let seq = id;
        journal.append(&[Entry { seq, kind, payload }]).unwrap();
    }
}
