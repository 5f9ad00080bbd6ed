//! Sectors of a segment that cannot be read, and a disk that is nearly full.

use super::*;
use crate::journal::testing::BadDisk;

/// Bytes that a scan reads at once.
const CHUNK: u64 = 128 * 1024;

#[test]
fn a_segment_of_which_nothing_of_a_chunk_is_readable_is_restored_from_the_store() {
    let options = Options {
        segment_bytes: 4 * CHUNK,
        ..options()
    };
    for bad in [CHUNK..2 * CHUNK, 0..4 * CHUNK] {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(BadDisk::default()));
        let journal = open_on(disk.clone(), dir.path(), options).unwrap();
        let stored = append_all(&journal, &vec![vec![3000]; 300]);
        journal.copy_all(drop).unwrap();
        assert_eq!(segments(dir.path()).len(), 2);
        disk.damage(&segments(dir.path())[0], bad.clone());
        assert_eq!(all(&journal), stored, "{bad:?}");
        journal.copy();
        while journal.repairs().segments == 0 {
            journal.copy();
        }
        assert_eq!(in_segments(&journal), stored, "{bad:?}");
        assert!(journal.lost_ranges().is_empty());
    }
}

#[test]
fn a_segment_that_can_be_read_again_is_no_repair() {
    for failures in 1..40 {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(BadDisk::default()));
        let journal = open_on(disk.clone(), dir.path(), options()).unwrap();
        let stored = append_all(&journal, &vec![vec![700, 10, 900]; 5]);
        journal.copy_all(drop).unwrap();
        *sync::lock(&disk.failures) = Some(failures);
        disk.damage(&segments(dir.path())[0], 0..u64::MAX);
        while *sync::lock(&disk.failures) != Some(0) {
            journal.copy();
        }
        settle(&journal);
        let told = journal.repairs().last.unwrap_or_default();
        assert!(!told.starts_with("0 records"), "{failures}: {told}");
        assert_eq!(in_segments(&journal), stored, "{failures}");
    }
}

#[test]
fn a_bad_sector_of_the_newest_segment_refuses_no_start_after_a_kill() {
    let (dir, journal) = fresh();
    let stored = append_all(&journal, &vec![vec![700, 10, 900]; 5]);
    settle(&journal);
    let newer = append(&journal, &[10]);
    let left = killed(&dir);
    drop(journal);
    let disk = Arc::new(BadDisk::default());
    disk.damage(&segments(left.path())[0], 4096..8192);
    let journal = open_on(disk, left.path(), options()).unwrap();
    assert_eq!(all(&journal), [&stored[..], &newer].concat());
    append(&journal, &[10]);
}

#[test]
fn no_segment_is_prepared_on_a_disk_that_it_would_fill() {
    let options = Options {
        segment_bytes: 4 * CHUNK,
        ..options()
    };
    let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(BadDisk::default()));
    let next = dir.path().join("segments/next");
    *sync::lock(&disk.free) = Some(6 * CHUNK);
    let journal = open_on(disk.clone(), dir.path(), options).unwrap();
    journal.copy();
    assert!(!next.exists());
    append(&journal, &[10]);
    let begun = fs::metadata(&segments(dir.path())[0]).unwrap().len();
    assert!(begun < 4 * CHUNK, "{begun}");
    append_all(&journal, &vec![vec![3000]; 12]);
    journal.copy();
    assert!(!next.exists());
    *sync::lock(&disk.free) = None;
    journal.copy();
    assert_eq!(fs::metadata(next).unwrap().len(), 4 * CHUNK);
}
