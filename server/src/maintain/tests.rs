use std::path::Path;

use super::*;
use crate::archive::recover;
use crate::journal::{Entry, snapshot};
use crate::record::{Record, Seen};
use hub_protocol::{Seq, Timestamp};

mod adopt;
mod import;

fn quiet() -> Options {
    Options::default()
}

fn filled(dir: &Path, records: u64) -> DiskJournal {
    let journal = DiskJournal::open(dir, quiet()).unwrap();
    for id in 1..=records {
        seen(&journal, id);
    }
    journal
}

fn seen(journal: &DiskJournal, id: u64) {
    let record = Record::Seen(Seen {
        ids: vec![id],
        up_to: None,
        seen: true,
        at: Timestamp::from_millis(7),
    });
    append(journal, &record);
}

/// What a kill would leave, elsewhere.
fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        std::fs::copy(from, to).unwrap();
        return;
    }
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// With everything in the store, which is what can be trimmed.
fn reopened(journal: DiskJournal, dir: &Path) -> DiskJournal {
    drop(journal);
    DiskJournal::open(dir, quiet()).unwrap()
}

fn append(journal: &DiskJournal, record: &Record) {
    let (kind, payload) = record.encode();
    journal
        .append(&[Entry {
            seq: journal.head() + 1,
            kind,
            payload,
        }])
        .unwrap();
}

fn folded(dir: &Path) -> (Seq, State) {
    let journal = DiskJournal::open(dir, quiet()).unwrap();
    let state = recover(&journal, &snapshots(dir, &journal)).unwrap().state;
    (journal.head(), state)
}

fn exported(dir: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    export::export(dir, &mut out).unwrap();
    out
}

#[test]
fn an_import_gives_an_equal_fold() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(filled(from.path(), 40));
    super::import::import(to.path(), &exported(from.path())[..], None).unwrap();
    assert_eq!(folded(to.path()), folded(from.path()));
}

#[test]
fn a_trimmed_log_is_exported_with_the_fold_it_builds_on() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let journal = reopened(filled(from.path(), 90), from.path());
    let state = recover(&journal, &snapshots(from.path(), &journal))
        .unwrap()
        .state;
    snapshots(from.path(), &journal)
        .save(90, &serde_json::to_vec(&state).unwrap())
        .unwrap();
    journal.trim(80).unwrap();
    assert!(journal.earliest() > 1);
    append(
        &journal,
        &Record::Seen(Seen {
            ids: vec![3],
            up_to: None,
            seen: false,
            at: Timestamp::from_millis(7),
        }),
    );
    drop(journal);
    super::import::import(to.path(), &exported(from.path())[..], None).unwrap();
    assert_eq!(folded(to.path()), folded(from.path()));
}

#[test]
fn an_export_cut_short_is_refused_and_leaves_nothing() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(filled(from.path(), 40));
    let export = exported(from.path());
    for lines in [39, 41] {
        let cut: Vec<u8> = export
            .split_inclusive(|byte| *byte == b'\n')
            .take(lines)
            .flatten()
            .copied()
            .collect();
        let error = super::import::import(to.path(), &cut[..], None).unwrap_err();
        assert!(error.to_string().contains("cut short"), "{error}");
        assert!(!Files::new(to.path()).journal().exists());
    }
}

#[test]
fn an_import_does_not_touch_a_journal_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path(), 3));
    let error = super::import::import(dir.path(), &exported(dir.path())[..], None).unwrap_err();
    assert!(error.to_string().contains("without a journal"), "{error}");
    assert_eq!(folded(dir.path()).0, 3);
}

#[test]
fn maintenance_is_refused_while_a_hub_runs() {
    let dir = tempfile::tempdir().unwrap();
    let _hub = filled(dir.path(), 3);
    for command in [Maintenance::Export { file: None }, Maintenance::Adopt] {
        let error = command.run(dir.path()).unwrap_err();
        assert!(
            error.to_string().contains("in use by another process"),
            "{error}"
        );
    }
}

#[test]
fn an_adopted_journal_goes_on_far_above_under_a_new_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path(), 40);
    let epoch = journal.epoch();
    drop(journal);
    let (_, before) = folded(dir.path());
    super::adopt::adopt(dir.path(), &mut io::sink()).unwrap();
    let journal = DiskJournal::open(dir.path(), quiet()).unwrap();
    assert_ne!(journal.epoch(), epoch);
    assert_eq!(journal.head(), 1_000_040);
    assert_eq!(
        journal
            .read(40, 1 << 20)
            .unwrap()
            .iter()
            .map(|entry| entry.seq)
            .collect::<Vec<_>>(),
        [40, 1_000_040]
    );
    drop(journal);
    assert!((1..=40).all(|id| folded(dir.path()).1.is_seen(id) == before.is_seen(id)));
}

#[test]
fn a_sound_directory_has_no_problems() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("state");
    drop(filled(&dir, 40));
    let mut out = Vec::new();
    doctor::doctor(&dir, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.contains("records 1 to 40 are what was written") && !out.contains("PROBLEM"),
        "{out}"
    );
}

#[test]
fn the_doctor_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path(), 40));
    std::fs::remove_file(Files::new(dir.path()).db()).unwrap();
    let mut out = Vec::new();
    assert!(doctor::doctor(dir.path(), &mut out).is_err());
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.contains("record 40 was stored") && out.contains("hubd adopt"),
        "{out}"
    );
}

#[test]
fn the_doctor_tells_of_what_is_not_all_in_place() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(Files::new(dir.path()).made()).unwrap();
    let mut out = Vec::new();
    assert!(doctor::doctor(dir.path(), &mut out).is_err());
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("it was cut short"), "{out}");
    assert!(Files::new(dir.path()).made().exists());
}

#[test]
fn an_adopted_journal_that_lost_its_snapshots_goes_on_without_them() {
    let dir = tempfile::tempdir().unwrap();
    let journal = reopened(filled(dir.path(), 90), dir.path());
    journal.trim(80).unwrap();
    drop(journal);
    super::adopt::adopt(dir.path(), &mut io::sink()).unwrap();
    assert_eq!(folded(dir.path()).0, 1_000_090);
    assert!(snapshot::exist_in(&Files::new(dir.path()).snapshots()));
}
