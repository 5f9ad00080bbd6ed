use std::path::Path;

use hub_core::disk::OsDisk;
use hub_core::record::{Notified, Record, SettleReason, Settled, Target};
use hub_log::archive::recover;
use hub_log::journal::{Entry, snapshot};

use super::*;
use bytes::Bytes;
use hub_protocol::{Kind, Seq, Timestamp};
use tempfile::TempDir;

mod adopt;
mod import;

fn opened(dir: &Path) -> DiskJournal {
    DiskJournal::open(dir, Options::default()).unwrap()
}

fn filled(dir: &Path, records: u64) -> DiskJournal {
    let journal = opened(dir);
    for id in 1..=records {
        seen(&journal, id);
    }
    journal
}

fn seen(journal: &DiskJournal, id: u64) {
    append(
        journal,
        &hub_core::testing::seen(id, true, Timestamp::from_millis(7)),
    );
}

/// Copies a state directory as a kill would leave it.
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

/// Reopens the journal, so that all records are in the store, because only the store can be trimmed.
fn reopened(journal: DiskJournal, dir: &Path) -> DiskJournal {
    drop(journal);
    opened(dir)
}

fn append(journal: &DiskJournal, record: &Record) {
    let entry = hub_log::testing::entry(journal.head() + 1, record);
    journal.append(&[entry]).unwrap();
}

fn state_of(dir: &Path, journal: &DiskJournal) -> State {
    recover(journal, &snapshots(dir, journal)).unwrap().state
}

/// Returns a state directory with a journal of so many records.
fn with_records(records: u64) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path(), records));
    dir
}

/// Imports into a new directory.
fn imported(export: &[u8]) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    super::import::import(to.path(), export, None).unwrap();
    to
}

/// Imports into a directory; returns why it is refused.
fn refused(to: &Path, export: &[u8]) -> String {
    super::import::import(to, export, None)
        .unwrap_err()
        .to_string()
}

fn folded(dir: &Path) -> (Seq, State) {
    let journal = opened(dir);
    (journal.head(), state_of(dir, &journal))
}

fn exported(dir: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    export::export(dir, &mut out).unwrap();
    out
}

/// Returns the output of doctor, which finds problems.
fn problems(dir: &Path) -> String {
    let mut out = Vec::new();
    doctor::doctor(dir, &mut out).unwrap_err();
    String::from_utf8(out).unwrap()
}

#[test]
fn an_import_restores_an_equal_fold() {
    let from = with_records(40);
    let to = imported(&exported(from.path()));
    assert_eq!(folded(to.path()), folded(from.path()));
}

#[test]
fn a_trimmed_log_is_exported_with_the_fold_it_builds_on() {
    let from = tempfile::tempdir().unwrap();
    let dir = from.path();
    let journal = reopened(filled(dir, 90), dir);
    let state = serde_json::to_vec(&state_of(dir, &journal)).unwrap();
    snapshots(dir, &journal).save(90, &state).unwrap();
    journal.trim(80).unwrap();
    assert!(journal.earliest() > 1);
    let undone = hub_core::testing::seen(3, false, Timestamp::from_millis(7));
    append(&journal, &undone);
    drop(journal);
    let to = imported(&exported(dir));
    assert_eq!(folded(to.path()), folded(dir));
}

#[test]
fn a_truncated_export_is_refused_and_leaves_no_journal() {
    let (from, to) = (with_records(40), tempfile::tempdir().unwrap());
    let export = exported(from.path());
    let lines: Vec<&[u8]> = export.split_inclusive(|byte| *byte == b'\n').collect();
    for kept in [39, 41] {
        let error = refused(to.path(), &lines[..kept].concat());
        assert!(error.contains("cut short"), "{error}");
        assert!(!Files::new(to.path()).journal().exists());
    }
}

#[test]
fn an_import_does_not_change_an_existing_journal() {
    let dir = with_records(3);
    let error = refused(dir.path(), &exported(dir.path()));
    assert!(error.contains("without a journal"), "{error}");
    assert_eq!(folded(dir.path()).0, 3);
}

#[test]
fn maintenance_is_refused_while_a_hub_runs() {
    let dir = tempfile::tempdir().unwrap();
    let _hub = filled(dir.path(), 3);
    for command in [Maintenance::Export { file: None }, Maintenance::Adopt] {
        let error = command.run(dir.path()).unwrap_err().to_string();
        assert!(error.contains("in use by another process"), "{error}");
    }
}

#[test]
fn an_adopted_journal_skips_numbers_and_has_a_new_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let journal = filled(dir.path(), 40);
    let epoch = journal.epoch();
    drop(journal);
    let (_, before) = folded(dir.path());
    super::adopt::adopt(dir.path(), &mut io::sink()).unwrap();
    let journal = opened(dir.path());
    assert_ne!(journal.epoch(), epoch);
    assert_eq!(journal.head(), 1_000_040);
    let next = |from| journal.read(from, 1 << 20).unwrap()[0].seq;
    assert_eq!((next(40), next(41)), (40, 1_000_040));
    drop(journal);
    assert!((1..=40).all(|id| folded(dir.path()).1.seen.contains(id) == before.seen.contains(id)));
}

#[test]
fn doctor_finds_no_problems_in_a_sound_directory() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("state");
    drop(filled(&dir, 40));
    let state = hub_config::state_dir::StateDir::open(&dir).unwrap();
    state.token().unwrap();
    let mut out = Vec::new();
    doctor::doctor(&dir, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let sound = out.contains("records 1 to 40 are intact");
    assert!(sound && !out.contains("PROBLEM"), "{out}");
}

#[test]
fn doctor_prints_what_to_do() {
    let dir = with_records(40);
    std::fs::remove_file(Files::new(dir.path()).epoch()).unwrap();
    let out = problems(dir.path());
    let told = out.contains("the file 'epoch' is missing") && out.contains("hubd adopt");
    assert!(told, "{out}");
}

#[test]
fn doctor_reports_a_repair_once() {
    let dir = with_records(40);
    std::fs::remove_file(Files::new(dir.path()).db()).unwrap();
    let out = problems(dir.path());
    let told = "one copy of the records was damaged, and is repaired from the other";
    assert!(out.contains(told), "{out}");
    assert!(out.contains("records 1 to 40 are intact"), "{out}");
    drop(opened(dir.path()));
    assert!(!problems(dir.path()).contains(told));
}

#[test]
fn doctor_reports_an_interrupted_replacement() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(Files::new(dir.path()).staged()).unwrap();
    let out = problems(dir.path());
    assert!(out.contains("was interrupted"), "{out}");
    assert!(Files::new(dir.path()).staged().exists());
}

#[test]
fn adopt_works_without_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let journal = reopened(filled(dir.path(), 90), dir.path());
    journal.trim(80).unwrap();
    drop(journal);
    super::adopt::adopt(dir.path(), &mut io::sink()).unwrap();
    assert_eq!(folded(dir.path()).0, 1_000_090);
    assert!(snapshot::exist_in(
        &OsDisk,
        &Files::new(dir.path()).snapshots()
    ));
}

/// Makes a journal of 900 records, with snapshots at `snapshots_at`, and flips a bit in both copies of record 300.
fn flipped(dir: &Path, snapshots_at: &[Seq]) {
    let journal = reopened(filled(dir, 900), dir);
    let snapshots = snapshots(dir, &journal);
    let mut state = State::default();
    for entry in journal.read(1, 1 << 20).unwrap() {
        let record = Record::decode(entry.kind, &entry.payload).unwrap();
        state.apply(entry.seq, &record);
        if snapshots_at.contains(&entry.seq) {
            let state = serde_json::to_vec(&state).unwrap();
            snapshots.save(entry.seq, &state).unwrap();
        }
    }
    drop(journal);
    for file in [Files::new(dir).db(), first_segment(dir)] {
        let mut bytes = std::fs::read(&file).unwrap();
        let places: Vec<_> = memchr::memmem::find_iter(&bytes, b"\"ids\":[300]").collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at] ^= 1;
        }
        std::fs::write(file, bytes).unwrap();
    }
}

fn first_segment(dir: &Path) -> std::path::PathBuf {
    Files::new(dir).segments().join("00000000000000000001")
}

#[test]
fn an_export_skips_lost_records_and_can_be_imported() {
    let from = tempfile::tempdir().unwrap();
    flipped(from.path(), &[850, 870]);
    let export = exported(from.path());
    let lines = String::from_utf8(export.clone()).unwrap();
    assert!(lines.contains("\"seq\":1,") && lines.contains("\"seq\":900,"));
    assert!(!lines.contains("\"seq\":300,"));
    let to = imported(&export);
    assert_eq!(folded(to.path()), folded(from.path()));
    assert!(
        folded(to.path()).1.seen.contains(300),
        "a snapshot holds it"
    );
}

#[test]
fn a_lost_record_that_no_snapshot_includes_refuses_the_start() {
    let dir = tempfile::tempdir().unwrap();
    flipped(dir.path(), &[250]);
    let error = DiskJournal::open(dir.path(), Options::default()).unwrap_err();
    assert!(error.to_string().contains("hubd adopt"), "{error}");
    let before = std::fs::read(first_segment(dir.path())).unwrap();
    DiskJournal::open(dir.path(), Options::default()).unwrap_err();
    let after = std::fs::read(first_segment(dir.path())).unwrap();
    assert!(before == after, "a refused start changes nothing");
    super::adopt::adopt(dir.path(), &mut Vec::new()).unwrap();
    let journal = opened(dir.path());
    let next = |from| journal.read(from, 1).unwrap()[0].seq;
    assert_eq!((next(299), next(300), next(900)), (299, 301, 900));
}

#[test]
fn doctor_names_the_lost_records() {
    let dir = tempfile::tempdir().unwrap();
    flipped(dir.path(), &[850, 870]);
    let out = problems(dir.path());
    let lost = out.split("PROBLEM  records ").nth(1).unwrap_or_default();
    let numbers = lost.split(' ').filter_map(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.collect();
    let (from, to) = (numbers[0], numbers[1]);
    assert_eq!((from, to), (300, 300), "{out}");
    assert!(out.contains("all other records"), "{out}");
    assert!(!out.contains("hubd adopt"), "{out}");
}

#[test]
fn an_export_with_a_changed_text_is_refused() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let journal = filled(from.path(), 3);
    let seen = Entry {
        seq: 4,
        kind: hub_core::record::kinds::SEEN,
        payload: br#"{"ids":[9],"seen":true,"at":"2026-11-23T00:00:00Z"}"#[..].into(),
    };
    journal.append(&[seen]).unwrap();
    drop(journal);
    let export = String::from_utf8(exported(from.path())).unwrap();
    // The fold stays the same, because it does not contain this time.
    let changed = export.replace("2026-11-23T00", "2026-11-23T01");
    assert_ne!(changed, export);
    let error = refused(to.path(), changed.as_bytes());
    assert!(error.contains("was changed"), "{error}");
    assert!(!Files::new(to.path()).journal().exists());
    imported(export.as_bytes());
}

#[test]
fn doctor_names_what_was_lost_unread() {
    let dir = tempfile::tempdir().unwrap();
    let journal = opened(dir.path());
    let at = Timestamp::from_millis(7);
    for _ in 0..3 {
        let mut route = hub_core::testing::route("a", Kind::Complete, at);
        route.targets = vec![Target {
            inbox: "primary".parse().unwrap(),
            wakes: true,
        }];
        let json = Bytes::from_static(b"{}");
        append(&journal, &Record::Notified(Notified { route, json }));
    }
    append(
        &journal,
        &Record::Settled(Settled {
            ids: vec![1, 2],
            inbox: None,
            how: SettleReason::Evicted,
            by: None,
            at,
        }),
    );
    drop(journal);
    let output = problems(dir.path());
    let lost = "2 notifications that nobody had read were lost, numbers 1 to 2";
    assert!(output.contains(lost), "{output}");
}

#[test]
fn doctor_reports_a_broken_token() {
    let dir = with_records(3);
    std::fs::write(dir.path().join("token"), "half of one").unwrap();
    let out = problems(dir.path());
    assert!(out.contains("PROBLEM") && out.contains("token"), "{out}");
}

#[test]
fn only_the_hub_shrinks_a_large_journal_file() {
    use std::os::unix::fs::MetadataExt;
    let dir = with_records(10);
    let db = Files::new(dir.path()).db();
    let grow = || {
        let file = std::fs::File::options().write(true).open(&db).unwrap();
        file.set_len(80 << 20).unwrap();
        file.metadata().unwrap().ino()
    };
    let before = grow();
    exported(dir.path());
    let _ = doctor::doctor(dir.path(), &mut Vec::new());
    assert_eq!(grow(), before);
    let options = Options {
        shrink: true,
        ..Options::default()
    };
    let journal = DiskJournal::open(dir.path(), options).unwrap();
    while journal.repairs().stores == 0 {
        std::thread::yield_now();
    }
    drop(journal);
    assert_ne!(grow(), before);
    assert_eq!(folded(dir.path()).0, 10);
}
