use std::fs;

use hub_log::journal::sled::{DirLock, OpenError, StagedJournal};

use super::*;
use crate::maintain::adopt;

fn adopted(dir: &Path) -> String {
    let mut out = Vec::new();
    adopt::adopt(dir, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn seqs(dir: &Path) -> Vec<Seq> {
    let journal = opened(dir);
    journal.scrub(drop).unwrap();
    let (mut found, mut at) = (Vec::new(), journal.earliest());
    while at <= journal.head() {
        found.extend(journal.read(at, 1 << 16).unwrap().iter().map(|it| it.seq));
        at = found.last().unwrap() + 1;
    }
    found
}

/// Makes the state that a kill leaves: records 1 to 40 in the store, 41 to 45 in the segments only, and no epoch file.
fn killed(dir: &Path) {
    let hub = tempfile::tempdir().unwrap();
    let journal = reopened(filled(hub.path(), 40), hub.path());
    let snapshots = snapshots(hub.path(), &journal);
    snapshots.save(20, br#"{"not":"read"}"#).unwrap();
    for id in 41..=45 {
        seen(&journal, id);
    }
    copy(hub.path(), dir);
    fs::remove_file(Files::new(dir).epoch()).unwrap();
}

/// Returns a state directory as a kill leaves it, see [`killed`].
fn killed_dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    killed(dir.path());
    dir
}

/// Returns a copy of a state directory.
fn copied(dir: &Path) -> TempDir {
    let left = tempfile::tempdir().unwrap();
    copy(dir, left.path());
    left
}

/// Returns why a hub does not start.
fn start_error(dir: &Path) -> OpenError {
    DiskJournal::open(dir, Options::default()).unwrap_err()
}

#[test]
fn an_adopt_interrupted_before_its_renames_changes_nothing() {
    let dir = killed_dir();
    let lock = DirLock::take(dir.path()).unwrap();
    let staged = StagedJournal::begin(&lock).unwrap();
    adopt::build(&staged, &mut io::sink()).unwrap();
    let left = copied(dir.path());
    let error = start_error(left.path());
    assert!(matches!(error, OpenError::NoEpoch), "{error}");
    assert!(!Files::new(left.path()).staged().exists());
    adopted(left.path());
    let saved: Vec<_> = (1..=45).chain([1_000_045]).collect();
    assert_eq!(seqs(left.path()), saved);
    // Dropping a journal under construction removes it.
    drop(staged);
    assert!(!Files::new(dir.path()).staged().exists());
}

#[test]
fn an_adopt_holds_the_lock_until_its_end() {
    let dir = killed_dir();
    let lock = DirLock::take(dir.path()).unwrap();
    let staged = StagedJournal::begin(&lock).unwrap();
    adopt::build(&staged, &mut io::sink()).unwrap();
    let error = start_error(dir.path());
    assert!(matches!(error, OpenError::Locked), "{error}");
    staged.install().unwrap();
    let error = start_error(dir.path());
    assert!(matches!(error, OpenError::Locked), "{error}");
}

#[test]
fn a_second_adopt_keeps_the_files_that_the_first_one_replaced() {
    let dir = killed_dir();
    let segment = "00000000000000000001";
    let before = fs::read(dir.path().join("segments").join(segment)).unwrap();
    adopted(dir.path());
    drop(opened(dir.path()));
    let out = adopted(dir.path());
    for name in ["journal", "snapshots", "segments"] {
        let aside = dir.path().join(format!("{name}.replaced"));
        let second = dir.path().join(format!("{name}.replaced.2"));
        assert!(aside.exists() && second.exists(), "{name}");
        assert!(out.contains(second.to_str().unwrap()));
    }
    let kept = fs::read(dir.path().join("segments.replaced").join(segment)).unwrap();
    assert_eq!(kept, before);
}

#[test]
fn a_snapshot_newer_than_the_journal_is_kept_among_the_replaced_files() {
    for usable in [&[5][..], &[]] {
        let dir = tempfile::tempdir().unwrap();
        let journal = filled(dir.path(), 9);
        let snapshots = snapshots(dir.path(), &journal);
        for seq in usable {
            snapshots.save(*seq, b"{}").unwrap();
        }
        snapshots.save(70, br#"{"all":"there was"}"#).unwrap();
        drop(journal);
        let name = "00000000000000000070.snapshot";
        let before = fs::read(dir.path().join("snapshots").join(name)).unwrap();
        adopted(dir.path());
        assert_eq!(seqs(dir.path()).last(), Some(&1_000_070));
        let aside = dir.path().join("snapshots.replaced").join(name);
        assert_eq!(fs::read(aside).unwrap(), before);
        let kept = snapshot::list(&OsDisk, &Files::new(dir.path()).snapshots()).unwrap();
        assert_eq!(kept.iter().map(|it| it.0).collect::<Vec<_>>(), usable);
    }
}

#[test]
fn an_adopted_empty_journal_does_not_reuse_numbers() {
    let dir = tempfile::tempdir().unwrap();
    drop(reopened(filled(dir.path(), 40), dir.path()));
    for emptied in [true, false] {
        let left = copied(dir.path());
        let files = Files::new(left.path());
        if emptied {
            fs::write(files.db(), b"").unwrap();
        } else {
            fs::remove_dir_all(files.journal()).unwrap();
        }
        fs::remove_dir_all(files.segments()).unwrap();
        assert!(adopted(left.path()).contains("nothing could be saved"));
        assert_eq!(folded(left.path()).0, 1_000_040);
        assert_eq!(seqs(left.path()), [1_000_040]);
        let journal = opened(left.path());
        seen(&journal, 7);
        drop(journal);
        assert_eq!(seqs(left.path()), [1_000_040, 1_000_041]);
        let (seq, state) = folded(left.path());
        assert!(seq == 1_000_041 && state.seen.contains(7) && !state.seen.contains(8));
    }
}

#[test]
fn a_start_does_not_create_a_journal_beside_a_replaced_one() {
    let dir = with_records(40);
    let files = Files::new(dir.path());
    fs::rename(files.journal(), dir.path().join("journal.replaced.2")).unwrap();
    fs::remove_file(files.epoch()).unwrap();
    let error = start_error(dir.path());
    assert!(matches!(error, OpenError::Replaced), "{error}");
    let error = adopt::adopt(dir.path(), &mut io::sink()).unwrap_err();
    assert!(error.to_string().contains("was put aside"), "{error}");
    assert!(!files.journal().exists() && !files.epoch().exists());
}
