//! A flipped bit in both copies of a record stored long ago: it alone is lost, and publishing continues.

use std::fs;
use std::path::Path;
use std::time::Instant;

use hub_log::journal::disk::DiskJournal;
use hub_log::journal::snapshot::Snapshots;
use hub_log::journal::{Entry, Health, Journal};
use hubd::maintain::Maintenance;
use memchr::memmem;

use super::PATIENCE;
use super::adopt::adopted;
use super::{all, expected, made, open, publish};

const RECORDS: u64 = 1200;
const BROKEN: u64 = 400;

/// Makes a closed journal with a flipped bit in every copy of one record, with or without later snapshots.
fn flipped(snapshots: bool) -> tempfile::TempDir {
    let made = made(RECORDS);
    let dir = made.path();
    if snapshots {
        let journal = open(dir).unwrap();
        let snapshots = Snapshots::new(&dir.join("snapshots"), journal.epoch());
        for seq in [RECORDS - 200, RECORDS - 100] {
            snapshots.save(seq, b"{}").unwrap();
        }
    }
    let segments = fs::read_dir(dir.join("segments")).unwrap().flatten();
    let segments: usize = segments.map(|it| flip_in(&it.path())).sum();
    assert!(segments > 0 && flip_in(&dir.join("journal/db")) > 0);
    made
}

/// Flips a bit in each copy of the record that the file has; returns how many these are.
fn flip_in(file: &Path) -> usize {
    let mut bytes = fs::read(file).unwrap();
    let text = format!("record {BROKEN} record {BROKEN}");
    let places: Vec<_> = memmem::find_iter(&bytes, text.as_bytes()).collect();
    for at in &places {
        bytes[at + 3] ^= 4;
    }
    fs::write(file, bytes).unwrap();
    places.len()
}

/// Returns the records that are left.
fn kept() -> Vec<Entry> {
    let mut kept = expected(RECORDS);
    kept.retain(|it| it.seq != BROKEN);
    kept
}

/// Waits until the store, which is made anew, has the record of the loss.
fn settle(journal: &DiskJournal) {
    let begun = Instant::now();
    while !{ journal.lost_at(BROKEN) }.is_some_and(|it| it.recorded) {
        assert!(begun.elapsed() < PATIENCE, "the store is not made anew");
        std::thread::yield_now();
    }
}

#[test]
fn a_record_that_neither_copy_has_is_a_gap_of_exactly_that() {
    let dir = flipped(true);
    let journal = open(dir.path()).unwrap();
    assert_eq!(all(&journal).unwrap(), kept());
    let range = journal.lost_at(BROKEN).unwrap();
    assert_eq!((range.from, range.to), (BROKEN, BROKEN));
    assert_eq!(journal.health(), Health::Sound);
    publish(&journal).unwrap();
    settle(&journal);
    drop(journal);
    // The store that was made anew records the loss.
    let journal = open(dir.path()).unwrap();
    let found = all(&journal).unwrap();
    assert_eq!(found[..kept().len()], kept());
    assert_eq!(found.last().unwrap().seq, RECORDS + 1);
    assert!(journal.lost_at(BROKEN).unwrap().recorded);
    publish(&journal).unwrap();
    // The records in front of it can be trimmed, and so can it.
    for _ in 0..100 {
        journal.trim(BROKEN + 100).unwrap();
    }
    assert!(journal.earliest() > BROKEN);
    drop(journal);
    open(dir.path()).unwrap().scrub(drop).unwrap();
}

#[test]
fn an_adopt_keeps_the_records_after_the_damage() {
    for snapshots in [true, false] {
        let dir = flipped(snapshots);
        Maintenance::Adopt.run(dir.path()).unwrap();
        assert_eq!(adopted(dir.path()), kept());
    }
}
