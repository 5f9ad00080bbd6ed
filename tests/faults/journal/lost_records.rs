//! A flipped bit in a block stored long ago: the records around it can be read, and publishing continues.

use std::fs;

use hub_log::journal::snapshot::Snapshots;
use hub_log::journal::{Entry, Health, Journal, LostRange};
use hubd::maintain::Maintenance;
use memchr::memmem;

use super::adopt::adopted;
use super::{all, expected, made, open, publish, refused};

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
    let file = dir.join("journal/db");
    let mut bytes = fs::read(&file).unwrap();
    let text = format!("record {BROKEN} record {BROKEN}");
    let places: Vec<_> = memmem::find_iter(&bytes, text.as_bytes()).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + 3] ^= 4;
    }
    fs::write(file, bytes).unwrap();
    made
}

/// Asserts that few records are missing, all of them around the damaged one.
fn around(found: &[Entry], range: LostRange) {
    let lost = range.from..=range.to;
    let mut kept = expected(RECORDS);
    kept.retain(|it| !lost.contains(&it.seq));
    assert!(lost.contains(&BROKEN), "{range:?}");
    assert!(range.to - range.from < 20, "{range:?}");
    assert_eq!(found[..kept.len()], kept);
}

#[test]
fn records_around_a_flipped_bit_can_be_read_and_writing_continues() {
    let dir = flipped(true);
    let journal = open(dir.path()).unwrap();
    let found = all(&journal).unwrap();
    let range = journal.lost_at(BROKEN).unwrap();
    assert!(!range.recorded);
    around(&found, range);
    assert_eq!(journal.health(), Health::Sound);
    publish(&journal).unwrap();
    drop(journal);
    // The next start leaves the range out, and records it.
    let journal = open(dir.path()).unwrap();
    journal.scrub(drop).unwrap();
    let found = all(&journal).unwrap();
    let recorded = journal.lost_at(BROKEN).unwrap();
    // sled loses a whole page, of which the file has lost no more than a block.
    assert!(recorded.recorded && range.from <= recorded.from && recorded.to <= range.to);
    around(&found, recorded);
    assert_eq!(found.last().unwrap().seq, RECORDS + 1);
    assert!(!dir.path().join("suspect").exists());
    publish(&journal).unwrap();
    // The records in front of the range can be trimmed, and so can the range.
    for _ in 0..100 {
        journal.trim(BROKEN + 100).unwrap();
    }
    assert!(journal.earliest() > BROKEN);
    drop(journal);
    open(dir.path()).unwrap().scrub(drop).unwrap();
}

#[test]
fn the_slow_verification_finds_the_damage_and_continues_after_it() {
    let dir = flipped(true);
    let journal = open(dir.path()).unwrap();
    journal.scrub(drop).unwrap();
    assert_eq!(journal.lost_ranges().len(), 1);
    publish(&journal).unwrap();
}

#[test]
fn without_a_later_snapshot_nothing_is_published() {
    refused(flipped(false).path(), "hubd adopt");
}

#[test]
fn an_adopt_keeps_the_records_after_the_damage() {
    for snapshots in [true, false] {
        let dir = flipped(snapshots);
        Maintenance::Adopt.run(dir.path()).unwrap();
        let found = adopted(dir.path());
        let journal = open(dir.path()).unwrap();
        assert_eq!(all(&journal).unwrap()[..found.len()], found);
        around(&found, journal.lost_at(BROKEN).unwrap());
    }
}
