//! The order of writes, syncs and answers, and failing syncs and writes.

use std::fs;

use hub_log::journal::{Health, Journal};

use super::child::{End, Writer, inject, stored};
use super::trace::{self, What};
use super::{all, expected, made, open, publish, refused, reopened};

#[test]
fn every_answer_follows_an_fdatasync_that_began_after_its_write() {
    let dir = tempfile::tempdir().unwrap();
    Writer::traced(dir.path(), 40).run();
    let log = dir.path().join("state/wal");
    let (mut written, mut synced, mut answers) = (0.0, 0.0, 0);
    for call in trace::read(dir.path()) {
        match call.what {
            What::Write(path, ..) if path == log => written = call.end,
            What::Sync(path) if path == log => synced = call.begin,
            What::Stored(seq) => {
                answers += 1;
                let times = format!("record {seq}: written at {written}, synced from {synced}");
                assert!(written < synced, "{times}");
                (written, synced) = (f64::INFINITY, 0.0);
            }
            _ => {}
        }
    }
    assert_eq!(answers, 40);
}

#[test]
fn a_start_makes_the_epoch_file_durable_before_any_other_file() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    super::filled(&state, 5);
    Writer::traced(dir.path(), 10).run();
    let mut calls = trace::read(dir.path()).into_iter();
    let first = calls.find_map(|call| match call.what {
        What::Write(path, ..) | What::Sync(path) if path.starts_with(&state) => Some(path),
        _ => None,
    });
    assert_eq!(first, Some(state.join("epoch")));
}

/// More records than any of these writers publishes.
const MANY: u64 = 3000;

/// Publishes while a system call on `file` fails, then opens the journal without the failure.
fn after_failure(file: &str, failure: &str) {
    let dir = tempfile::tempdir().unwrap();
    let trace = inject(&dir.path().join(file), failure);
    let output = Writer::new(dir.path(), MANY).under(trace).run();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answered = stored(&output).len() as u64;
    let failed = text.contains("failed storage failed") && text.contains("Failed(");
    assert!(failed && answered > 0 && answered < MANY, "{text}");
    assert!(dir.path().join("suspect").exists());
    let journal = open(dir.path()).unwrap();
    assert!(dir.path().join("journal.replaced").exists());
    assert!(!dir.path().join("suspect").exists());
    // One more record may be there, which was written but never answered.
    let head = journal.head();
    assert!(
        [answered, answered + 1].contains(&head),
        "{answered} of {head}"
    );
    assert_eq!(all(&journal).unwrap(), expected(head));
    assert_eq!(journal.health(), Health::Sound);
    publish(&journal).unwrap();
}

#[test]
fn a_failed_sync_stops_everything_and_the_next_start_copies_the_intact_records() {
    after_failure("wal", "fdatasync:error=EIO:when=25+");
}

#[test]
fn a_failed_sync_is_neither_retried_nor_a_full_disk() {
    after_failure("wal", "fdatasync:error=EIO:when=25");
    after_failure("wal", "fdatasync:error=ENOSPC:when=25");
    after_failure("journal/db", "fdatasync:error=ENOSPC:when=3+");
}

#[test]
fn a_failed_write_stops_everything_and_the_next_start_copies_the_intact_records() {
    after_failure("wal", "pwrite64:error=EIO:when=5+");
}

#[test]
fn answered_records_survive_a_store_that_can_be_neither_synced_nor_written() {
    // strace counts the calls per thread: opening a new journal syncs it twice, in another thread than the WAL flusher's,
    // and sled writes in several.
    after_failure("journal/db", "fdatasync:error=EIO:when=3+");
    after_failure("journal/db", "pwrite64:error=EIO:when=3+");
}

/// sled syncs once more when it is closed, and panics if that fails.
#[test]
fn a_store_whose_sync_fails_at_close_is_copied_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let trace = inject(&dir.path().join("journal/db"), "fsync:error=EIO");
    let writer = Writer::new(dir.path(), 20).under(trace);
    let output = writer.ending(End::Closed).run();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("stored 20\nclosed Err("), "{text}");
    assert!(dir.path().join("suspect").exists());
    assert_eq!(reopened(dir.path()), expected(20));
}

/// Makes a journal of 30 records whose last sync failed.
fn suspect() -> tempfile::TempDir {
    let dir = made(30);
    fs::write(dir.path().join("suspect"), b"sync failed").unwrap();
    dir
}

#[test]
fn a_copy_that_was_cut_short_is_made_again() {
    let dir = suspect();
    fs::create_dir_all(dir.path().join("journal.making/journal")).unwrap();
    fs::write(dir.path().join("journal.making/journal/db"), b"half").unwrap();
    assert_eq!(reopened(dir.path()), expected(30));
    assert!(!dir.path().join("journal.making").exists());
}

#[test]
fn a_copy_that_was_not_renamed_into_place_is_renamed_at_the_next_start() {
    let dir = suspect();
    let (place, made) = (dir.path().join("journal"), dir.path().join("journal.made"));
    fs::create_dir(&made).unwrap();
    fs::rename(place, made.join("journal")).unwrap();
    assert_eq!(reopened(dir.path()), expected(30));
    assert!(!made.exists() && !dir.path().join("suspect").exists());
}

#[test]
fn without_a_journal_there_is_nothing_to_copy() {
    let dir = suspect();
    fs::remove_dir_all(dir.path().join("journal")).unwrap();
    refused(dir.path(), "put the directory 'journal' back");
}
