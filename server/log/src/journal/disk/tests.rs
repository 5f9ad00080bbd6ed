use std::fs;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::journal::epoch::EpochFile;
use crate::journal::sled::{AdoptedRecords, DirLock, StagedJournal};
use crate::journal::testing::{
    all, append, append_all, entries, is_readable_from_every_cursor, sizes,
};

/// The size of a log that a few records fill.
const SMALL: u64 = 16 * 1024;

fn options() -> Options {
    Options {
        reserve_bytes: 0,
        floor_bytes: 0,
        log_bytes: SMALL,
        ..Options::default()
    }
}

fn open(dir: &TempDir) -> DiskJournal {
    DiskJournal::open(dir.path(), options()).unwrap()
}

fn fresh() -> (TempDir, DiskJournal) {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(&dir);
    (dir, journal)
}

/// Returns why a directory is not opened.
fn refusal(dir: &TempDir) -> OpenError {
    DiskJournal::open(dir.path(), options()).unwrap_err()
}

/// Flips a bit in the log.
fn flip(dir: &TempDir, at: usize) {
    let mut log = fs::read(dir.path().join("wal")).unwrap();
    log[at] ^= 1;
    fs::write(dir.path().join("wal"), log).unwrap();
}

/// Copies the files as they are now to a new directory: the state that a kill would leave.
fn killed(dir: &TempDir) -> TempDir {
    let left = tempfile::tempdir().unwrap();
    fs::create_dir(left.path().join("journal")).unwrap();
    for file in ["epoch", "wal", "journal/db", "journal/conf"] {
        fs::copy(dir.path().join(file), left.path().join(file)).unwrap();
    }
    left
}

/// Returns a state directory whose commits are in the log only, as if nothing was moved to the store.
fn with_log(commits: &[Vec<Entry>]) -> TempDir {
    let (dir, journal) = fresh();
    let epoch = journal.epoch();
    drop(journal);
    let (mut log, mut chain) = (Vec::new(), 0);
    for commit in commits {
        let (frame, after) = frame::encode(epoch, chain, commit);
        log.extend_from_slice(&frame);
        chain = after;
    }
    log.resize(usize::try_from(SMALL).unwrap(), 0);
    fs::write(dir.path().join("wal"), log).unwrap();
    dir
}

fn adopted(dir: &Path) -> AdoptedRecords {
    let lock = DirLock::take(dir).unwrap();
    let staged = StagedJournal::begin(&lock).unwrap();
    let (store, adopted) = adopt(&staged, options()).unwrap();
    drop(store);
    staged.install().unwrap();
    adopted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_record_is_readable_from_every_cursor(commits in sizes(20_000, 30), max in 0..20_000_usize) {
        let (dir, journal) = fresh();
        let stored = append_all(&journal, &commits);
        is_readable_from_every_cursor(&journal, &stored, max);
        drop(journal);
        prop_assert_eq!(all(&open(&dir)), stored);
    }

    #[test]
    fn appended_records_survive_a_kill(commits in sizes(20_000, 30)) {
        let (dir, journal) = fresh();
        let stored = append_all(&journal, &commits);
        // The flusher is idle now: the next commits wait in the log until there are more, or for a second.
        journal.shared.queue.wait_for_all().unwrap();
        let more = append(&journal, &[100, 30, 700]);
        let left = killed(&dir);
        let journal = open(&left);
        prop_assert_eq!(all(&journal), [&stored[..], &more].concat());
        append(&journal, &[10]);
    }
}

#[test]
fn commits_in_the_log_are_read_at_open_and_moved_to_the_store() {
    let commits = [(1, &[10, 20][..]), (3, &[500]), (4, &[1, 1])];
    let commits = commits.map(|(first, sizes)| entries(first, sizes));
    let dir = with_log(&commits);
    let journal = open(&dir);
    assert_eq!(all(&journal), commits.concat());
    drop(journal);
    let store = SledJournal::open(dir.path(), options()).unwrap();
    assert_eq!(store.read(1, 10_000).unwrap(), commits.concat());
}

#[test]
fn a_torn_last_commit_in_the_log_is_dropped() {
    let whole = entries(1, &[10, 20]);
    let dir = with_log(&[whole.clone(), entries(3, &[500, 500])]);
    flip(&dir, 600);
    let journal = open(&dir);
    assert_eq!(all(&journal), whole);
    // The next commit takes its number and its place in the log.
    append(&journal, &[7]);
    drop(journal);
    assert_eq!(open(&dir).head(), 3);
}

#[test]
fn a_broken_commit_before_a_valid_one_refuses_the_log() {
    let dir = with_log(&[entries(1, &[10]), entries(2, &[500]), entries(3, &[10])]);
    flip(&dir, 300);
    let error = refusal(&dir);
    assert!(matches!(error, OpenError::Broken { at: 2, .. }), "{error}");
}

#[test]
fn a_log_that_does_not_chain_to_the_store_is_refused() {
    let (dir, journal) = fresh();
    append(&journal, &[10]);
    drop(journal);
    let other = with_log(&[entries(1, &[99]), entries(2, &[10])]);
    let mut log = fs::read(other.path().join("wal")).unwrap();
    let own = fs::read(dir.path().join("wal")).unwrap();
    // The store contains the first frame's record already; the second frame belongs to another journal.
    let second = 36 + 5 + 99;
    for at in [0, second] {
        log[at + 8..at + 16].copy_from_slice(&own[8..16]);
    }
    fs::write(dir.path().join("wal"), &log).unwrap();
    // The frame's checksum covers the identity, so no frame in the file is valid.
    let error = refusal(&dir);
    assert!(matches!(error, OpenError::OldLog { logged: 1 }), "{error}");
    fs::write(dir.path().join("wal"), &own).unwrap();
    let (frame, _) = frame::encode(open(&dir).epoch(), 77, &entries(2, &[10]));
    log[..frame.len()].copy_from_slice(&frame);
    fs::write(dir.path().join("wal"), &log).unwrap();
    let error = refusal(&dir);
    assert!(matches!(error, OpenError::Broken { at: 2, .. }), "{error}");
}

#[test]
fn a_missing_log_is_refused_until_the_journal_is_adopted() {
    let (dir, journal) = fresh();
    let stored = append(&journal, &[10, 20]);
    drop(journal);
    fs::remove_file(dir.path().join("wal")).unwrap();
    let error = refusal(&dir);
    assert!(matches!(error, OpenError::NoLog), "{error}");
    let adopted = adopted(dir.path());
    assert_eq!((adopted.head, adopted.broken), (2, None));
    assert_eq!(all(&open(&dir)), stored);
}

#[test]
fn adopt_saves_commits_that_only_the_log_contains() {
    let commits = [entries(1, &[10, 20]), entries(3, &[500])];
    let dir = with_log(&commits);
    fs::remove_file(dir.path().join("epoch")).unwrap();
    let adopted = adopted(dir.path());
    assert_eq!((adopted.head, adopted.used), (3, 3));
    assert!(!dir.path().join("wal").exists());
    assert_eq!(all(&open(&dir)), commits.concat());
}

#[test]
fn adopt_ends_at_a_broken_commit_and_never_reuses_later_numbers() {
    let dir = with_log(&[entries(1, &[10]), entries(2, &[500]), entries(3, &[10])]);
    flip(&dir, 300);
    let adopted = adopted(dir.path());
    assert_eq!((adopted.head, adopted.used), (1, 3));
    assert_eq!(adopted.broken.as_deref(), Some(wal::GAP_REASON));
}

#[test]
fn a_commit_larger_than_the_log_goes_to_the_store() {
    let (dir, journal) = fresh();
    let mut stored = append(&journal, &[10]);
    stored.extend(append(&journal, &[3000; 20]));
    stored.extend(append(&journal, &[10]));
    drop(journal);
    assert_eq!(all(&open(&dir)), stored);
}

#[test]
fn a_small_commit_is_moved_to_the_store_after_a_while() {
    let (_dir, journal) = fresh();
    append(&journal, &[10]);
    let begun = Instant::now();
    while journal.shared.store.head() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it stays");
        thread::yield_now();
    }
    assert_eq!(all(&journal), entries(1, &[10]));
}

#[test]
fn a_panicking_mover_fails_the_writer_that_waits_for_it() {
    let (_dir, journal) = fresh();
    let shared = Arc::clone(&journal.shared);
    // This number cannot follow an empty store, so the flusher panics.
    shared.queue.push(0, entries(7, &[10]));
    let (waited, answer) = mpsc::channel();
    thread::spawn(move || waited.send(shared.queue.wait_for_half(0)));
    let waited = answer.recv_timeout(Duration::from_secs(20));
    assert!(waited.expect("it waits for ever").is_err());
    assert!(matches!(journal.health(), Health::Failed(_)));
    let refused = journal.append(&entries(1, &[1]));
    assert!(matches!(refused, Err(JournalError::Io(_))));
}

#[test]
fn a_snapshot_newer_than_the_journal_proves_lost_records() {
    for lost in [false, true] {
        let dir = with_log(&[entries(1, &[10]), entries(2, &[500])]);
        let own = EpochFile::read(&dir.path().join("epoch")).unwrap();
        for (epoch, seq) in [(own.unwrap().epoch, 2), (Epoch(77), 9)] {
            let snapshots = Snapshots::new(&dir.path().join("snapshots"), epoch);
            snapshots.save(seq, b"{}").unwrap();
        }
        if !lost {
            assert_eq!(open(&dir).head(), 2);
            continue;
        }
        flip(&dir, 300);
        let error = refusal(&dir);
        let behind = matches!(error, OpenError::Behind { head: 1, synced: 2 });
        assert!(behind, "{error}");
        let adopted = adopted(dir.path());
        assert!(adopted.head == 1 && adopted.used >= 2, "{adopted:?}");
        assert_eq!(all(&open(&dir)), entries(1, &[10]));
    }
}

#[test]
fn a_closed_journal_refuses_appends() {
    let (_dir, journal) = fresh();
    journal.close().unwrap();
    let refused = journal.append(&entries(1, &[1]));
    assert!(matches!(refused, Err(JournalError::Io(_))));
}

#[test]
fn an_emptied_or_older_log_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    append(&open(&dir), &[10, 20]);
    let wal = dir.path().join("wal");
    let older = fs::read(&wal).unwrap();
    append(&open(&dir), &[30; 9]);
    let newest = fs::read(&wal).unwrap();
    for log in [vec![0; older.len()], older] {
        fs::write(&wal, log).unwrap();
        let error = refusal(&dir);
        assert!(matches!(error, OpenError::OldLog { logged: 11 }), "{error}");
    }
    fs::write(&wal, newest).unwrap();
    assert_eq!(all(&open(&dir)).len(), 11);
}

#[test]
fn a_log_keeps_the_size_with_which_it_was_made() {
    let (dir, journal) = fresh();
    let stored = append_all(&journal, &[vec![10, 20], vec![30]]);
    let left = killed(&dir);
    for log_bytes in [2 * SMALL, SMALL / 2] {
        let changed = Options {
            log_bytes,
            ..options()
        };
        let left = killed(&left);
        let journal = DiskJournal::open(left.path(), changed).unwrap();
        assert_eq!(all(&journal), stored);
        append(&journal, &[40; 100]);
        drop(journal);
        assert_eq!(fs::metadata(left.path().join("wal")).unwrap().len(), SMALL);
    }
    let cut = fs::OpenOptions::new()
        .write(true)
        .open(left.path().join("wal"));
    cut.unwrap().set_len(SMALL / 2).unwrap();
    let error = refusal(&left).to_string();
    assert!(
        error.contains("the file 'wal' has 8192 bytes, not 16384"),
        "{error}"
    );
}

#[test]
fn a_journal_whose_directory_is_gone_accepts_nothing_and_writes_nothing_where_it_was() {
    for again in [false, true] {
        let parent = tempfile::tempdir().unwrap();
        let (dir, moved) = (parent.path().join("state"), parent.path().join("moved"));
        fs::create_dir(&dir).unwrap();
        let journal = DiskJournal::open(&dir, options()).unwrap();
        append(&journal, &[10]);
        fs::rename(&dir, &moved).unwrap();
        if again {
            drop(DiskJournal::open(&dir, options()).unwrap());
        }
        let refused = journal.append(&entries(2, &[20]));
        let Err(JournalError::Io(error)) = refused else {
            panic!("{refused:?}")
        };
        assert!(
            error.to_string().contains("was removed or replaced"),
            "{error}"
        );
        assert!(matches!(journal.health(), Health::Failed(_)));
        assert_eq!(journal.head(), 1);
        assert!(!dir.join("suspect").exists());
        drop(journal);
        assert_eq!(dir.exists(), again);
    }
}

#[test]
fn what_is_accepted_after_the_store_is_gone_stays_in_the_log() {
    let (dir, journal) = fresh();
    append(&journal, &[10]);
    fs::rename(dir.path().join("journal"), dir.path().join("moved")).unwrap();
    // Many times more than the log holds.
    let refused = (2..200).find(|&seq| journal.append(&entries(seq, &[1000])).is_err());
    assert!(refused.is_some());
    let log = fs::read(dir.path().join("wal")).unwrap().into();
    let kept = wal::commits_above(1, &log);
    let kept: Vec<Seq> = kept.iter().map(|it| it.frame.last()).collect();
    assert_eq!(kept, (2..=journal.head()).collect::<Vec<_>>());
}

#[test]
fn a_directory_that_is_gone_is_noticed_without_any_append() {
    let (dir, journal) = fresh();
    append(&journal, &[10]);
    fs::remove_dir_all(dir.path()).unwrap();
    while journal.health() == Health::Sound {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(matches!(journal.health(), Health::Failed(_)));
}
