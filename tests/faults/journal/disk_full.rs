//! A full disk: a small tmpfs.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use hub_core::record::kinds;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::Options;
use hub_log::journal::{Entry, Health, Journal, JournalError};

use super::PATIENCE;
use super::small_disk::SmallDisk;
use super::{acknowledge, all, copy, expected, open, publish, publish_times, reopened};

impl SmallDisk {
    fn open(&self) -> DiskJournal {
        self.open_with(options())
    }

    fn open_with(&self, options: Options) -> DiskJournal {
        DiskJournal::open(&self.state(), options).unwrap()
    }

    fn size_of_reserve(&self) -> u64 {
        fs::metadata(self.state().join("reserve")).unwrap().len()
    }

    /// Uses all free space.
    fn fill(&self) {
        self.fill_but(0);
    }

    /// Copies what a kill would leave now to a disk with space.
    fn copied(&self) -> tempfile::TempDir {
        let elsewhere = tempfile::tempdir().unwrap();
        copy(&self.state(), elsewhere.path());
        elsewhere
    }

    /// Uses all free space except `room` bytes.
    fn fill_but(&self, room: u64) {
        let mut ballast = File::create(self.ballast()).unwrap();
        let chunk = vec![1; 4096];
        while ballast.write_all(&chunk).is_ok() {}
        let taken = ballast.metadata().unwrap().len();
        ballast.set_len(taken - room).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

fn options() -> Options {
    sized(4, 2)
}

/// Returns options with a reserve and a floor of so many MiB.
fn sized(reserve: u64, floor: u64) -> Options {
    Options {
        reserve_bytes: reserve << 20,
        floor_bytes: floor << 20,
        ..super::options()
    }
}

fn publish_until_full(journal: &dyn Journal) -> u64 {
    loop {
        match publish(journal) {
            Ok(_) => {}
            Err(JournalError::Full) => return journal.head(),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn below_the_floor_nothing_is_published_but_acks_and_reads_continue() {
    let disk = SmallDisk::new(24);
    let journal = disk.open();
    let head = publish_until_full(&journal);
    assert_eq!(journal.health(), Health::Full);
    for _ in 0..100 {
        acknowledge(&journal).unwrap();
    }
    let found = all(&journal).unwrap();
    assert_eq!(found[..usize::try_from(head).unwrap()], expected(head));
}

#[test]
fn with_no_byte_left_acks_go_into_the_reserve() {
    let disk = SmallDisk::new(24);
    let journal = disk.open();
    publish_times(&journal, 50);
    disk.fill();
    for _ in 0..200 {
        acknowledge(&journal).unwrap();
    }
    assert!(matches!(publish(&journal), Err(JournalError::Full)));
    assert_eq!(all(&journal).unwrap()[..50], expected(50));
}

#[test]
fn room_is_noticed_without_a_restart() {
    let disk = SmallDisk::new(24);
    let journal = disk.open();
    disk.fill();
    assert!(matches!(publish(&journal), Err(JournalError::Full)));
    acknowledge(&journal).unwrap();
    disk.make_room();
    assert_eq!(journal.health(), Health::Sound);
    publish(&journal).unwrap();
    assert_eq!(disk.size_of_reserve(), options().reserve_bytes);
}

#[test]
fn a_commit_that_did_not_fit_leaves_nothing() {
    let disk = SmallDisk::new(24);
    let journal = disk.open_with(sized(4, 0));
    let head = publish_until_full(&journal);
    // Without a free byte sled may be unable to open again. Reads are refused then, and never wrong.
    match all(&journal) {
        Err(JournalError::Full) => {}
        found => assert_eq!(found.unwrap(), expected(head)),
    }
    drop(journal);
    disk.resize(32);
    assert_eq!(all(&disk.open()).unwrap(), expected(head));
}

#[test]
fn records_that_do_not_fit_into_the_store_stay_in_the_segments() {
    let disk = SmallDisk::new(24);
    let journal = disk.open_with(sized(0, 2));
    publish_times(&journal, 50);
    disk.fill();
    let refused = loop {
        if let Err(error) = acknowledge(&journal) {
            break error;
        }
    };
    assert!(matches!(refused, JournalError::Full), "{refused}");
    let head = usize::try_from(journal.head()).unwrap();
    let stored = reopened(disk.copied().path());
    assert_eq!((stored.len(), &stored[..50]), (head, &expected(50)[..]));
    disk.make_room();
    let begun = Instant::now();
    while acknowledge(&journal).is_err() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    assert_eq!(all(&journal).unwrap()[..head], stored);
}

/// Unwritten space of a segment reads as zeros, and so does the rest of this commit, so its partial frame looks complete.
#[test]
fn a_commit_that_fits_into_a_segment_in_part_is_not_there_after_a_restart() {
    let disk = SmallDisk::new(24);
    // No reserve, because with one the whole commit would fit.
    let open_here = || disk.open_with(sized(0, 2));
    acknowledge(&open_here()).unwrap();
    // Like a file system on which rewriting needs additional space.
    let segment = disk.state().join("segments/00000000000000000001");
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..4096]).unwrap();
    let sparse = File::options().write(true).open(&segment).unwrap();
    sparse.set_len(bytes.len() as u64).unwrap();
    let journal = open_here();
    disk.fill_but(4096);
    let (seq, kind, payload) = (2, kinds::SETTLED, vec![0; 12_000].into());
    let refused = journal.append(&[Entry { seq, kind, payload }]);
    assert!(matches!(refused, Err(JournalError::Full)), "{refused:?}");
    assert_eq!(open(disk.copied().path()).unwrap().head(), 1);
    disk.make_room();
    acknowledge(&journal).unwrap();
    assert_eq!(journal.head(), 2);
}

#[test]
fn a_hub_starts_on_a_full_disk() {
    let disk = SmallDisk::new(24);
    let journal = disk.open();
    publish_times(&journal, 50);
    drop(journal);
    disk.fill();
    let journal = disk.open();
    assert_eq!(all(&journal).unwrap(), expected(50));
    assert_eq!(journal.health(), Health::Full);
    acknowledge(&journal).unwrap();
}
