use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use hub_core::disk::{Disk, OsDisk};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::journal::epoch::EpochFile;
use crate::journal::sled::tests::{break_block, remove_all_blocks, remove_blocks};
use crate::journal::sled::{DirLock, StagedJournal};
use crate::journal::snapshot::Snapshots;
use crate::journal::testing::{
    all, append, append_all, entries, is_readable_from_every_cursor, sizes,
};
use crate::testing::StoreAlone;

mod renewal;
mod unreadable;

/// The size of a segment that a few records fill.
const SMALL: u64 = 16 * 1024;

fn options() -> Options {
    Options {
        reserve_bytes: 0,
        floor_bytes: 0,
        segment_bytes: SMALL,
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

/// Returns the segments, ascending.
fn segments(dir: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(dir.join("segments")).unwrap().flatten();
    let mut paths: Vec<_> = found.map(|it| it.path()).collect();
    paths.retain(|path| !path.ends_with("next"));
    paths.sort();
    paths
}

/// Flips a bit in a segment.
fn flip(segment: &Path, at: usize) {
    let mut bytes = fs::read(segment).unwrap();
    bytes[at] ^= 1;
    fs::write(segment, bytes).unwrap();
}

/// Returns the records that the segments have.
fn in_segments(journal: &DiskJournal) -> Vec<Entry> {
    let run = { &journal.shared.segments }.run(1, journal.head(), usize::MAX);
    run.unwrap().entries
}

/// Returns the first 120 records that the store has.
fn in_store(journal: &DiskJournal) -> Vec<Entry> {
    let run = { &journal.shared.store }.run(1, 120, usize::MAX);
    run.unwrap().entries
}

/// Opens a journal whose segments are on this disk. No thread copies.
fn open_on(disk: Arc<dyn Disk>, dir: &Path, options: Options) -> Result<DiskJournal, OpenError> {
    let store = Arc::new(SledStore::open(dir, options)?);
    DiskJournal::over(store, &Files::on(disk, dir), options)
}

/// The same on the system's disk.
fn without_copier(dir: &Path) -> DiskJournal {
    open_on(Arc::new(OsDisk), dir, options()).unwrap()
}

/// A new journal and its store. No thread copies.
fn opened() -> (TempDir, Arc<SledStore>, DiskJournal) {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SledStore::open(dir.path(), options()).unwrap());
    let files = Files::new(dir.path());
    let journal = DiskJournal::over(store.clone(), &files, options()).unwrap();
    (dir, store, journal)
}

/// Waits until the store has all records, and nothing is damaged.
fn settle(journal: &DiskJournal) {
    let store = &journal.shared.store;
    wait_for(|| store.damage().is_none() && store.head() == journal.head());
}

/// Copies until the store was made anew.
fn made_anew(journal: &DiskJournal) {
    wait_for(|| {
        journal.copy();
        journal.repairs().stores > 0
    });
}

fn wait_for(mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it takes long");
        thread::yield_now();
    }
}

/// Copies the files as they are now to a new directory: the state that a kill would leave.
fn killed(dir: &TempDir) -> TempDir {
    let left = tempfile::tempdir().unwrap();
    for sub in ["journal", "segments"] {
        fs::create_dir(left.path().join(sub)).unwrap();
    }
    for file in ["epoch", "journal/db", "journal/conf"] {
        fs::copy(dir.path().join(file), left.path().join(file)).unwrap();
    }
    for segment in segments(dir.path()) {
        let name = Path::new("segments").join(segment.file_name().unwrap());
        fs::copy(segment, left.path().join(name)).unwrap();
    }
    left
}

/// Returns a state directory whose commits are in a segment only, as if nothing was copied to the store.
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
    fs::write(dir.path().join("segments/00000000000000000001"), log).unwrap();
    dir
}

fn adopted(dir: &Path) -> AdoptedRecords {
    let lock = DirLock::take(dir).unwrap();
    let staged = StagedJournal::begin(&lock).unwrap();
    let (journal, adopted) = adopt(&staged, options()).unwrap();
    drop(journal);
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
    fn the_segments_alone_give_every_record_from_every_cursor(commits in sizes(20_000, 30), max in 0..20_000_usize) {
        let (dir, journal) = fresh();
        let stored = append_all(&journal, &commits);
        drop(journal);
        fs::remove_dir_all(dir.path().join("journal")).unwrap();
        let journal = without_copier(dir.path());
        is_readable_from_every_cursor(&journal, &stored, max);
    }

    #[test]
    fn appended_records_survive_a_kill(commits in sizes(20_000, 30)) {
        let (dir, journal) = fresh();
        let stored = append_all(&journal, &commits);
        settle(&journal);
        let more = append(&journal, &[100, 30, 700]);
        let left = killed(&dir);
        let journal = open(&left);
        prop_assert_eq!(all(&journal), [&stored[..], &more].concat());
        append(&journal, &[10]);
    }
}

#[test]
fn commits_in_a_segment_are_read_at_open_and_copied_to_the_store() {
    let commits = [(1, &[10, 20][..]), (3, &[500]), (4, &[1, 1])];
    let commits = commits.map(|(first, sizes)| entries(first, sizes));
    let dir = with_log(&commits);
    let journal = open(&dir);
    assert_eq!(all(&journal), commits.concat());
    settle(&journal);
    drop(journal);
    let store = StoreAlone::open(dir.path(), options()).unwrap();
    assert_eq!(store.read(1, 10_000).unwrap(), commits.concat());
}

#[test]
fn a_torn_last_commit_is_dropped() {
    let whole = entries(1, &[10, 20]);
    let dir = with_log(&[whole.clone(), entries(3, &[500, 500])]);
    flip(&segments(dir.path())[0], 600);
    let journal = open(&dir);
    assert_eq!(all(&journal), whole);
    // The next commit takes its number and its place in the segment.
    append(&journal, &[7]);
    drop(journal);
    assert_eq!(open(&dir).head(), 3);
}

#[test]
fn a_broken_commit_that_no_snapshot_contains_and_the_store_has_not_is_refused() {
    let dir = with_log(&[entries(1, &[10]), entries(2, &[500]), entries(3, &[10])]);
    flip(&segments(dir.path())[0], 300);
    for _ in 0..2 {
        let error = refusal(&dir);
        assert!(matches!(error, OpenError::Broken { at: 2, .. }), "{error}");
    }
    let adopted = adopted(dir.path());
    assert_eq!((adopted.head, adopted.lost_ranges), (3, vec![(2, 2)]));
    let journal = open(&dir);
    assert_eq!(
        all(&journal).iter().map(|it| it.seq).collect::<Vec<_>>(),
        [1, 3]
    );
}

#[test]
fn a_snapshot_newer_than_the_journal_proves_lost_records() {
    for lost in [false, true] {
        let dir = with_log(&[entries(1, &[10]), entries(2, &[500])]);
        let own = EpochFile::read(&OsDisk, &dir.path().join("epoch")).unwrap();
        for (epoch, seq) in [(own.unwrap().epoch, 2), (Epoch(77), 9)] {
            let snapshots = Snapshots::new(&dir.path().join("snapshots"), epoch);
            snapshots.save(seq, b"{}").unwrap();
        }
        if !lost {
            assert_eq!(open(&dir).head(), 2);
            continue;
        }
        flip(&segments(dir.path())[0], 300);
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
fn trimmed_segments_are_removed() {
    let (dir, journal) = fresh();
    append_all(&journal, &vec![vec![3000]; 40]);
    settle(&journal);
    assert!(segments(dir.path()).len() > 5);
    journal.trim(40).unwrap();
    let left = segments(dir.path());
    assert!(journal.earliest() > 30 && left.len() < 3, "{left:?}");
    drop(journal);
    assert_eq!(open(&dir).head(), 40);
}

#[test]
fn a_trim_that_finds_damage_is_done_after_the_repair() {
    let (dir, store, journal) = opened();
    let stored = append_all(&journal, &vec![vec![3000]; 40]);
    journal.copy_all(drop).unwrap();
    break_block(&store, 20);
    journal.trim(40).unwrap();
    assert_eq!(journal.earliest(), 1);
    made_anew(&journal);
    journal.copy_all(drop).unwrap();
    journal.trim(40).unwrap();
    assert_eq!(journal.earliest(), 40);
    assert_eq!(all(&journal), stored[39..]);
    drop((journal, store));
    assert_eq!(all(&open(&dir)), stored[39..]);
}

#[test]
fn a_file_that_is_no_segment_stays_where_it_is() {
    let (dir, stored) = made(5);
    let within = |name: &str| dir.path().join("segments").join(name);
    fs::write(within("notes.txt"), b"of the person").unwrap();
    fs::create_dir(within("backup")).unwrap();
    fs::write(within("00000000000000000030.tmp"), b"half of one").unwrap();
    assert_eq!(all(&without_copier(dir.path())), stored);
    let left = ["notes.txt", "backup", "00000000000000000030.tmp", "next"];
    assert_eq!(
        left.map(|it| within(it).exists()),
        [true, true, false, false]
    );
}

#[test]
fn skipped_numbers_are_in_both_copies_and_not_lost() {
    let (dir, journal) = fresh();
    append(&journal, &[10]);
    journal.skip_to(99);
    let later = entries(100, &[20]);
    journal.append(&later).unwrap();
    settle(&journal);
    assert_eq!(
        journal.shared.segments.run(50, 100, 10).unwrap().entries,
        later
    );
    assert_eq!(
        journal.shared.store.run(50, 100, 10).unwrap().entries,
        later
    );
    journal.scrub(drop).unwrap();
    assert!(journal.lost_ranges().is_empty());
    drop(journal);
    assert_eq!(open(&dir).head(), 100);
}

/// Commits of a closed journal with several segments.
fn made(count: usize) -> (TempDir, Vec<Entry>) {
    let (dir, journal) = fresh();
    let stored = append_all(&journal, &vec![vec![700, 10, 900]; count]);
    settle(&journal);
    drop(journal);
    (dir, stored)
}

#[test]
fn a_store_that_is_missing_empty_old_or_unreadable_is_made_anew() {
    let (old, _) = made(5);
    let damages: [fn(&Path, &Path); 4] = [
        |dir, _| fs::remove_dir_all(dir.join("journal")).unwrap(),
        |dir, _| fs::write(dir.join("journal/db"), b"").unwrap(),
        |dir, _| fs::write(dir.join("journal/db"), vec![7; 100_000]).unwrap(),
        |dir, old| {
            fs::copy(old.join("journal/db"), dir.join("journal/db")).unwrap();
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        let (dir, stored) = made(40);
        damage(dir.path(), old.path());
        let journal = open(&dir);
        assert_eq!(all(&journal), stored, "{number}");
        append(&journal, &[10]);
        settle(&journal);
        wait_for(|| !dir.path().join("journal.damaged").exists());
        assert!(journal.repairs().stores <= 1, "{number}");
        drop(journal);
        let store = StoreAlone::open(dir.path(), options()).unwrap();
        assert_eq!(all(&store)[..stored.len()], stored, "{number}");
    }
}

#[test]
fn a_damaged_or_missing_segment_is_restored_from_the_store() {
    for missing in [false, true] {
        let (dir, stored) = made(40);
        let count = segments(dir.path()).len();
        assert!(count > 3);
        for damaged in [0, 1, count - 1] {
            // A missing segment becomes part of the one before.
            let paths = segments(dir.path());
            let path = &paths[damaged.min(paths.len() - 1)];
            let before = fs::read(path).unwrap();
            if missing {
                fs::remove_file(path).unwrap();
            } else {
                flip(path, 800);
            }
            let journal = open(&dir);
            assert_eq!(all(&journal), stored, "{damaged}");
            journal.scrub(drop).unwrap();
            assert_eq!(journal.repairs().segments, 1, "{damaged}");
            assert!(journal.lost_ranges().is_empty());
            assert_eq!(in_segments(&journal), stored);
            drop(journal);
            assert!(missing || fs::read(path).unwrap() != before);
        }
    }
}

#[test]
fn all_segments_are_restored_from_the_store() {
    let (dir, stored) = made(40);
    fs::remove_dir_all(dir.path().join("segments")).unwrap();
    let journal = open(&dir);
    append(&journal, &[10]);
    wait_for(|| journal.repairs().segments > 0);
    drop(journal);
    fs::remove_dir_all(dir.path().join("journal")).unwrap();
    assert_eq!(all(&open(&dir))[..stored.len()], stored);
}

#[test]
fn records_that_the_store_has_lost_in_silence_are_found_by_the_comparison() {
    for as_a_whole in [true, false] {
        let (dir, stored) = made(40);
        let own = EpochFile::read(&OsDisk, &dir.path().join("epoch")).unwrap();
        let snapshots = Snapshots::new(&dir.path().join("snapshots"), own.unwrap().epoch);
        snapshots.save(100, b"{}").unwrap();
        remove_blocks(dir.path(), &(40..60).collect::<Vec<_>>());
        let journal = without_copier(dir.path());
        assert_eq!(journal.shared.store.damage(), None);
        if as_a_whole {
            journal.scrub(drop).unwrap();
        }
        made_anew(&journal);
        let last = journal.repairs().last.unwrap();
        assert!(last.contains("a block is missing"), "{last}");
        journal.copy_all(drop).unwrap();
        assert_eq!(in_store(&journal), stored);
        assert_eq!(all(&journal), stored);
    }
}

#[test]
fn a_store_with_other_records_is_made_anew() {
    let (dir, stored) = made(40);
    let journal = without_copier(dir.path());
    let mut other = journal.shared.segments.run(1, 120, usize::MAX).unwrap();
    other.entries[70].kind ^= 1;
    journal.shared.compare(&other);
    let damage = journal.shared.store.damage().unwrap();
    assert!(damage.contains("not those of the segments"), "{damage}");
    journal.copy();
    journal.copy_all(drop).unwrap();
    assert_eq!(journal.repairs().stores, 1);
    assert_eq!(all(&journal), stored);
}

#[test]
fn a_journal_whose_end_neither_copy_has_refuses_appends() {
    let (dir, store, journal) = opened();
    let stored = append_all(&journal, &vec![vec![3000]; 40]);
    journal.copy_all(drop).unwrap();
    for segment in segments(dir.path()) {
        fs::write(segment, vec![0; 4096]).unwrap();
    }
    remove_all_blocks(&store);
    let refused = journal.read(1, 10);
    let is_corrupt = matches!(refused, Err(JournalError::Corrupt { at: 1, .. }));
    assert!(is_corrupt, "{refused:?}");
    assert!(matches!(journal.health(), Health::Corrupt { at: 1, .. }));
    let refused = journal.append(&entries(stored.len() as u64 + 1, &[1]));
    assert!(matches!(refused, Err(JournalError::Corrupt { .. })));
}

#[test]
fn records_that_neither_copy_has_are_a_gap_of_exactly_those() {
    let (dir, journal) = fresh();
    let stored = append_all(&journal, &vec![vec![3000]; 40]);
    settle(&journal);
    let snapshots = Snapshots::new(&dir.path().join("snapshots"), journal.epoch());
    snapshots.save(40, b"{}").unwrap();
    drop(journal);
    // Records 6 to 10 are in the second segment: 5 records of 3,041 bytes each.
    for at in [0, 1] {
        flip(&segments(dir.path())[1], 3041 * at + 500);
    }
    remove_blocks(dir.path(), &[7, 8, 30]);
    let expected = LostRange {
        from: 7,
        to: 7,
        recorded: true,
    };
    for _ in 0..2 {
        let journal = open(&dir);
        let mut kept = stored.clone();
        kept.retain(|it| it.seq != 7);
        assert_eq!(all(&journal), kept);
        journal.scrub(drop).unwrap();
        wait_for(|| journal.shared.store.damage().is_none());
        settle(&journal);
        assert_eq!(all(&journal), kept);
        let lost = journal.lost_at(7).unwrap();
        assert_eq!((lost.from, lost.to), (7, 7));
        drop(journal);
    }
    let journal = open(&dir);
    assert_eq!(all(&journal).len(), 39);
    assert_eq!(journal.lost_ranges(), [expected]);
    assert_eq!(journal.repairs(), Repairs::default());
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
fn what_is_accepted_after_the_store_is_gone_stays_in_the_segments() {
    let (dir, journal) = fresh();
    append(&journal, &[10]);
    fs::rename(dir.path().join("journal"), dir.path().join("moved")).unwrap();
    let mut accepted = 1;
    wait_for(|| {
        let stored = journal.append(&entries(accepted + 1, &[1000]));
        accepted += u64::from(stored.is_ok());
        stored.is_err()
    });
    let run = journal.shared.segments.run(1, accepted, usize::MAX);
    assert_eq!(run.unwrap().end().0, accepted);
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

/// Stores records as a hub of format 1 does, in which only the store has them. Some are unreadable.
fn of_format_1(unreadable: &[Seq]) -> (TempDir, Vec<Entry>) {
    let dir = tempfile::tempdir().unwrap();
    let store = StoreAlone::open(dir.path(), options()).unwrap();
    let stored = append_all(&store, &vec![vec![3000]; 40]);
    drop(store);
    remove_blocks(dir.path(), unreadable);
    (dir, stored)
}

#[test]
fn unreadable_records_of_an_earlier_format_are_a_gap_if_a_snapshot_has_them() {
    for folded in [5, 30] {
        let (dir, mut stored) = of_format_1(&[7, 8, 20]);
        let own = EpochFile::read(&OsDisk, &dir.path().join("epoch")).unwrap();
        let snapshots = Snapshots::new(&dir.path().join("snapshots"), own.unwrap().epoch);
        snapshots.save(folded, b"{}").unwrap();
        if folded < 20 {
            let error = refusal(&dir);
            assert!(matches!(error, OpenError::Broken { .. }), "{error}");
            continue;
        }
        stored.retain(|it| ![7, 8, 20].contains(&it.seq));
        for _ in 0..2 {
            let journal = without_copier(dir.path());
            assert_eq!(all(&journal), stored);
            while journal.shared.store.head() < 40 {
                journal.copy();
            }
            assert_eq!(all(&journal), stored);
            let lost = journal.lost_ranges();
            let lost: Vec<_> = lost.iter().map(|it| (it.from, it.to)).collect();
            assert_eq!(lost, [(7, 8), (20, 20)]);
        }
    }
}
