//! Journals of every released format are read by every later version.

use std::path::{Path, PathBuf};

use hubd::archive::recover;
use hubd::journal::Journal;
use hubd::journal::snapshot::Snapshots;
use hubd::record::{Record, Seen};

use super::{copy, open};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/journal-v1")
}

fn record(id: u64) -> Record {
    Record::Seen(Seen {
        ids: vec![id],
        up_to: None,
        seen: true,
        at: hub_protocol::Timestamp::from_millis(1_800_000_000_000),
    })
}

#[test]
fn a_journal_of_format_1_is_read() {
    let dir = tempfile::tempdir().unwrap();
    copy(&fixture(), dir.path());
    let journal = open(dir.path()).unwrap();
    let found = journal.read(1, 1 << 20).unwrap();
    assert_eq!(found.len(), 100);
    for entry in found {
        assert_eq!(
            Record::decode(entry.kind, &entry.payload).unwrap(),
            record(entry.seq)
        );
    }
}

#[test]
fn a_snapshot_of_format_1_is_read() {
    let dir = tempfile::tempdir().unwrap();
    copy(&fixture(), dir.path());
    let journal = open(dir.path()).unwrap();
    let snapshots = Snapshots::new(&dir.path().join("snapshots"), journal.epoch());
    let recovered = recover(&journal, &snapshots).unwrap();
    assert_eq!((recovered.snapshot, recovered.seq), (60, 100));
    assert!((1..=100).all(|id| recovered.state.is_seen(id)));
}

#[test]
#[ignore = "writes the fixture, once a format"]
fn write_the_fixture() {
    std::fs::create_dir_all(fixture()).unwrap();
    let journal = open(&fixture()).unwrap();
    let snapshots = Snapshots::new(&fixture().join("snapshots"), journal.epoch());
    for id in 1..=100 {
        let (kind, payload) = record(id).encode();
        journal
            .append(&[hubd::journal::Entry {
                seq: id,
                kind,
                payload,
            }])
            .unwrap();
        if id == 60 {
            let state = recover(&journal, &snapshots).unwrap().state;
            snapshots
                .save(id, &serde_json::to_vec(&state).unwrap())
                .unwrap();
        }
    }
}
