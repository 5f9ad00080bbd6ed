//! Journals of every released format can be read by every later version.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use hub_core::record::{Record, Seen};
use hub_log::archive::recover;
use hub_log::journal::snapshot::Snapshots;
use hub_log::journal::{Entry, Journal};

use super::child::Writer;
use super::{all, copy, open, reopened};

/// 100 records and a snapshot of the first 60. From format 2 on, the last 40 are not in the store.
const FORMATS: [u32; 3] = [1, 2, 3];

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

#[test]
fn a_conversion_killed_at_any_rename_loses_nothing() {
    for format in [1, 2] {
        let mut renames = 0;
        loop {
            renames += 1;
            let dir = tempfile::tempdir().unwrap();
            copy(&fixture(format), dir.path());
            let kill = format!("inject=/^rename:signal=KILL:when={renames}");
            let trace = ["-o", "/dev/null", "-e", "trace=/^rename", "-e", &kill];
            let trace = trace.map(String::from).to_vec();
            let finished = Writer::new(dir.path(), 0)
                .under(trace)
                .run()
                .status
                .success();
            assert_eq!(reopened(dir.path()).len(), 100, "rename {renames}");
            assert!(!dir.path().join("wal").exists());
            if finished {
                break;
            }
        }
        assert!(renames > 1, "{renames}");
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
    // Before the copier writes these records to the store.
    copy(dir.path(), &fixture(*FORMATS.last().unwrap()));
}

fn write(journal: &dyn Journal, ids: RangeInclusive<u64>) {
    for id in ids {
        let (kind, payload) = record(id).encode();
        let seq = id;
        journal.append(&[Entry { seq, kind, payload }]).unwrap();
    }
}
