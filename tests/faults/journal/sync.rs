//! The order of writes, syncs and answers, and failing syncs and writes.

use hub_log::journal::{Health, Journal};

use super::child::{End, Writer, inject, stored};
use super::trace::{self, What};
use super::{all, expected, made_anew, open, publish, reopened};

#[test]
fn every_answer_follows_an_fdatasync_that_began_after_its_write() {
    let dir = tempfile::tempdir().unwrap();
    Writer::traced(dir.path(), 40).run();
    let segments = dir.path().join("state/segments");
    let (mut written, mut synced, mut answers) = (0.0, 0.0, 0);
    for call in trace::read(dir.path()) {
        match call.what {
            What::Write(path, ..) if path.parent() == Some(&segments) => written = call.end,
            What::Sync(path) if path.parent() == Some(&segments) => synced = call.begin,
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

/// The first segment.
const SEGMENT: &str = "segments/00000000000000000001";
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
    made_anew(dir.path(), &journal);
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
fn a_failed_sync_stops_everything_and_the_next_start_makes_the_store_anew() {
    after_failure(SEGMENT, "fdatasync:error=EIO:when=25+");
}

#[test]
fn a_failed_sync_is_neither_retried_nor_a_full_disk() {
    after_failure(SEGMENT, "fdatasync:error=EIO:when=25");
    after_failure(SEGMENT, "fdatasync:error=ENOSPC:when=25");
    after_failure("journal/db", "fdatasync:error=ENOSPC:when=3+");
}

#[test]
fn a_failed_write_stops_everything_and_the_next_start_makes_the_store_anew() {
    after_failure(SEGMENT, "pwrite64:error=EIO:when=5+");
}

#[test]
fn answered_records_survive_a_store_that_can_be_neither_synced_nor_written() {
    // strace counts the calls per thread: opening a new journal syncs it twice, in another thread than the copier's,
    // and sled writes in several.
    after_failure("journal/db", "fdatasync:error=EIO:when=3+");
    after_failure("journal/db", "pwrite64:error=EIO:when=3+");
}

/// sled syncs once more when it is closed, and panics if that fails.
#[test]
fn a_store_whose_sync_fails_at_close_is_made_anew_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let trace = inject(&dir.path().join("journal/db"), "fsync:error=EIO");
    let writer = Writer::new(dir.path(), 20).under(trace);
    let output = writer.ending(End::Closed).run();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("stored 20\nclosed Err("), "{text}");
    assert!(dir.path().join("suspect").exists());
    assert_eq!(reopened(dir.path()), expected(20));
}
