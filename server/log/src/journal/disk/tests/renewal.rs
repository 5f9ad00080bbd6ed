//! A store that is made anew, or that is only closed.

use std::os::unix::fs::MetadataExt;

use memchr::memmem;

use super::*;
use crate::journal::sled::tests::close_as_full;

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// A journal whose store has all records and is closed, as after a full disk.
fn closed() -> (TempDir, DiskJournal, Vec<Entry>) {
    let (dir, store, journal) = opened();
    let stored = append_all(&journal, &vec![vec![700, 10, 900]; 40]);
    journal.copy_all(drop).unwrap();
    close_as_full(&store);
    (dir, journal, stored)
}

#[test]
fn a_store_that_a_full_disk_closed_is_not_damaged() {
    let (dir, journal, stored) = closed();
    let db = dir.path().join("journal/db");
    let before = inode(&db);
    assert_eq!(all(&journal), stored);
    assert_eq!(journal.shared.store.damage(), None);
    append(&journal, &[10]);
    journal.copy();
    assert_eq!(in_store(&journal), stored);
    assert_eq!(journal.repairs(), Repairs::default());
    assert_eq!(inode(&db), before);
}

#[test]
fn a_record_that_only_a_closed_store_has_is_not_lost() {
    let (dir, journal, stored) = closed();
    flip(&segments(dir.path())[0], 800);
    let refused = journal.read(1, 10);
    assert!(matches!(refused, Err(JournalError::Full)), "{refused:?}");
    assert!(journal.scrub(drop).is_err());
    assert!(journal.lost_ranges().is_empty());
    assert_eq!(journal.health(), Health::Sound);
    append(&journal, &[10]);
    journal.copy_all(drop).unwrap();
    journal.scrub(drop).unwrap();
    assert_eq!(all(&journal)[..stored.len()], stored);
    assert_eq!(journal.repairs().segments, 1);
}

#[test]
fn a_store_that_cannot_be_made_anew_fails_nothing_and_is_tried_less_and_less() {
    let (dir, stored) = made(40);
    // A directory is in the place of the file.
    fs::create_dir(dir.path().join("suspect")).unwrap();
    let journal = without_copier(dir.path());
    let (mut tries, mark) = (0, dir.path().join("journal/mark"));
    let old = inode(&dir.path().join("journal/db"));
    for _ in 0..20 {
        fs::write(&mark, b"").unwrap();
        journal.copy();
        tries += u32::from(!mark.exists());
        journal.shared.store.check_place().unwrap();
    }
    assert!((2..8).contains(&tries), "{tries}");
    assert_eq!(inode(&dir.path().join("journal.damaged/db")), old);
    assert_eq!(journal.health(), Health::Sound);
    assert_eq!(all(&journal), stored);
    fs::remove_dir(dir.path().join("suspect")).unwrap();
    while journal.repairs().stores == 0 {
        journal.copy();
    }
    journal.copy_all(drop).unwrap();
    assert_eq!(in_store(&journal), stored);
}

#[test]
fn a_large_store_is_made_anew_and_counts_as_no_repair() {
    for is_missing in [false, true] {
        let (dir, stored) = made(40);
        let db = dir.path().join("journal/db");
        let file = fs::File::options().write(true).open(&db).unwrap();
        file.set_len(80 << 20).unwrap();
        if is_missing {
            fs::remove_file(segments(dir.path()).pop().unwrap()).unwrap();
        }
        let before = inode(&db);
        let options = Options {
            shrink: true,
            ..options()
        };
        let journal = open_on(Arc::new(OsDisk), dir.path(), options).unwrap();
        assert_eq!(journal.shared.store.damage(), None);
        journal.copy();
        journal.copy_all(drop).unwrap();
        assert_ne!(inode(&db), before);
        assert_eq!(all(&journal), stored);
        assert_eq!(in_segments(&journal), stored);
        let (repairs, repaired) = (journal.repairs(), u64::from(is_missing));
        assert_eq!(repairs.stores, 1);
        assert_eq!((repairs.segments, repairs.count()), (repaired, repaired));
        assert_eq!(repairs.last.is_some(), is_missing);
    }
}

#[test]
fn the_newest_records_that_only_a_store_to_be_made_anew_has_are_restored() {
    let damages: [fn(&Path); 3] = [
        |dir| fs::remove_file(segments(dir).pop().unwrap()).unwrap(),
        |dir| fs::remove_dir_all(dir.join("segments")).unwrap(),
        |dir| {
            let newest = segments(dir).pop().unwrap();
            let bytes = fs::read(&newest).unwrap();
            flip(&newest, memmem::rfind(&bytes, &frame::MAGIC).unwrap());
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        let (dir, stored) = made(40);
        fs::write(dir.path().join("suspect"), b"a write failed").unwrap();
        damage(dir.path());
        let journal = without_copier(dir.path());
        assert!(journal.shared.store.damage().is_some());
        assert_eq!(all(&journal), stored, "{number}");
        let newer = append(&journal, &[10]);
        made_anew(&journal);
        let kept = [&stored[..], &newer].concat();
        assert_eq!(in_segments(&journal), kept, "{number}");
        journal.copy_all(drop).unwrap();
        drop(journal);
        assert_eq!(all(&without_copier(dir.path())), kept, "{number}");
    }
}
