use hub_core::disk::OsDisk;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::journal::Journal as _;
use crate::journal::block::{self, Block};
use crate::journal::snapshot::Snapshots;
use crate::journal::testing::{
    all, append, append_all, entries, is_readable_from_every_cursor, sizes,
};
use crate::testing::StoreAlone;

fn open(dir: &Path) -> StoreAlone {
    let options = Options {
        reserve_bytes: 0,
        floor_bytes: 0,
        ..Options::default()
    };
    StoreAlone::open(dir, options).unwrap()
}

fn fresh() -> (tempfile::TempDir, StoreAlone) {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    (dir, journal)
}

/// Returns a journal of so many records, each in a block of its own.
fn of_blocks(records: usize) -> (tempfile::TempDir, StoreAlone) {
    let (dir, journal) = fresh();
    append(&journal, &vec![3000; records]);
    (dir, journal)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_record_is_readable_from_every_cursor(commits in sizes(65_536, 9), max in 0..20_000_usize) {
        let (dir, journal) = fresh();
        let stored = append_all(&journal, &commits);
        is_readable_from_every_cursor(&journal, &stored, max);
        drop(journal);
        prop_assert_eq!(all(&open(dir.path())), stored);
    }

    #[test]
    fn a_commit_cut_at_any_insert_is_dropped_and_earlier_ones_are_kept(
        before in sizes(65_536, 9), cut in vec(1..20_000_usize, 2..7),
    ) {
        let (dir, journal) = fresh();
        let stored = append_all(&journal, &before);
        let blocks = pack(&journal, &cut);
        drop(journal);
        for inserted in 0..blocks.len() {
            insert(dir.path(), &blocks[..inserted]);
            let journal = open(dir.path());
            prop_assert_eq!(journal.head(), stored.len() as u64);
            prop_assert_eq!(all(&journal), stored.clone());
        }
        insert(dir.path(), &blocks);
        prop_assert_eq!(open(dir.path()).head(), (stored.len() + cut.len()) as u64);
    }

    #[test]
    fn trim_keeps_every_record_from_the_bound_on(commits in sizes(65_536, 9), at in any::<prop::sample::Index>()) {
        let (dir, journal) = fresh();
        let stored = append_all(&journal, &commits);
        let below = 1 + at.index(stored.len()) as u64;
        journal.trim(below).unwrap();
        let skipped = usize::try_from(journal.earliest() - 1).unwrap();
        prop_assert!(journal.earliest() <= below);
        prop_assert_eq!(all(&journal), &stored[skipped..]);
        let bytes = journal.bytes();
        drop(journal);
        let journal = open(dir.path());
        prop_assert_eq!(journal.bytes(), bytes);
        prop_assert_eq!(all(&journal), &stored[skipped..]);
    }
}

#[test]
fn a_cut_commit_far_behind_the_newest_snapshot_is_dropped_alone() {
    let (dir, journal) = fresh();
    let stored = append_all(&journal, &[vec![3000; 4], vec![3000; 4]]);
    let cut = pack(&journal, &[3000; 4]);
    // The segments have more, and a snapshot includes that.
    journal.0.epoch_file.begin_segments().unwrap();
    let (logged, chain) = (journal.head() + 100, 1);
    journal.0.epoch_file.note((logged, chain), 0);
    let snapshots = Snapshots::new(&Files::new(dir.path()).snapshots(), journal.epoch());
    snapshots.save(logged, b"{}").unwrap();
    drop(journal);
    insert(dir.path(), &cut[..2]);
    let journal = open(dir.path());
    assert_eq!(journal.0.damage(), None);
    assert_eq!(journal.head(), stored.len() as u64);
    assert_eq!(all(&journal), stored);
}

#[test]
fn a_record_in_several_blocks_is_read_whole_with_any_limit() {
    let (_dir, journal) = fresh();
    let stored = append(&journal, &[20_000, 1]);
    is_readable_from_every_cursor(&journal, &stored, 0);
}

/// Returns the blocks of the next commit without storing them.
fn pack(journal: &StoreAlone, sizes: &[usize]) -> Vec<Block> {
    let entries = entries(journal.head() + 1, sizes);
    journal.0.writer().tail.pack(&entries)
}

/// Stores blocks without updating the journal, as a hub that was killed during a commit leaves them.
fn insert(dir: &Path, blocks: &[Block]) {
    let store = BlockStore::open(&Files::new(dir).journal(), true).unwrap();
    for block in blocks {
        let (key, value) = block.encode();
        store.insert(key, value).unwrap();
    }
    store.sync().unwrap();
}

/// Removes the blocks of these records from a closed journal.
pub(in crate::journal) fn remove_blocks(dir: &Path, seqs: &[Seq]) {
    let store = BlockStore::open(&Files::new(dir).journal(), true).unwrap();
    let keys: Vec<_> = seqs.iter().map(|seq| block::key(*seq, 0)).collect();
    store.remove(&keys).unwrap();
}

/// Makes the block of a record of an open store unreadable.
pub(in crate::journal) fn break_block(store: &SledStore, seq: Seq) {
    let broken = |store: &BlockStore| store.insert(block::key(seq, 0), b"broken".to_vec());
    store.with_store(broken).unwrap();
}

/// Removes all blocks of an open store, as sled may do without an error.
pub(in crate::journal) fn remove_all_blocks(store: &SledStore) {
    let removed = |store: &BlockStore| {
        let keys: Vec<_> = store.keys(block::key(0, 0)).map(Result::unwrap).collect();
        store.remove(&keys)
    };
    store.with_store(removed).unwrap();
}

/// Closes the store as a full disk does, when it cannot be opened again at once.
pub(in crate::journal) fn close_as_full(store: &SledStore) {
    drop(sync::write(&store.store).take());
}

#[test]
fn an_empty_journal_begins_at_record_one() {
    let (_dir, journal) = fresh();
    assert_eq!((journal.head(), journal.earliest()), (0, 1));
    assert!(journal.read(1, 100).unwrap().is_empty());
}

#[test]
fn a_record_that_lacks_a_later_block_is_not_readable() {
    let (_dir, journal) = fresh();
    append_all(&journal, &[vec![10], vec![20_000], vec![10]]);
    let removed = |store: &BlockStore| store.remove(&[block::key(2, 1)]);
    journal.0.with_store(removed).unwrap();
    assert_eq!(journal.0.next_readable(2, 3).unwrap(), Some(3));
    assert_eq!(journal.0.next_readable(4, 3).unwrap(), None);
}

#[test]
fn a_panic_of_sled_is_an_error() {
    let (_dir, journal) = fresh();
    let called: Result<(), _> = journal.0.with_store(|_| panic!("as sled does"));
    assert!(matches!(called, Err(JournalError::Io(_))));
}

#[test]
fn a_store_that_cannot_be_reopened_fails_the_journal() {
    let (dir, journal) = fresh();
    // The state after a full disk, when the store could not be reopened at once.
    close_as_full(&journal.0);
    std::fs::remove_dir_all(dir.path().join("journal")).unwrap();
    std::fs::write(dir.path().join("journal"), b"").unwrap();
    let refused = journal.append(&entries(1, &[1]));
    assert!(matches!(refused, Err(JournalError::Io(_))));
    assert!(matches!(journal.health(), Health::Failed(_)));
}

#[test]
fn a_failed_journal_writes_neither_records_nor_the_epoch_file() {
    let (dir, journal) = fresh();
    append(&journal, &[3000; 40]);
    let failure = std::io::Error::other("a write failed").into();
    journal.0.handle_failed_log_write(&failure);
    assert!(journal.append(&entries(41, &[1])).is_err());
    assert!(journal.trim(30).is_err());
    journal.0.mark();
    let anchor = EpochFile::read(&OsDisk, &dir.path().join("epoch"))
        .unwrap()
        .unwrap();
    assert_eq!((anchor.first, anchor.synced), (1, 0));
    assert_eq!((journal.earliest(), journal.head()), (1, 40));
}

/// Returns the size of the kept entries in bytes.
fn kept(journal: &StoreAlone) -> u64 {
    let all = all(journal);
    all.iter().map(|it| block::stored_len(it) as u64).sum()
}

#[test]
fn the_rest_of_a_failed_trim_is_dropped_and_not_counted_again() {
    let (_dir, journal) = of_blocks(200);
    let blocks = |store: &BlockStore| -> Vec<_> {
        let blocks = store.blocks(block::key(0, 0));
        blocks.map(|found| found.unwrap().1.encode()).collect()
    };
    let before = journal.0.with_store(|store| Ok(blocks(store)));
    journal.trim(190).unwrap();
    let earliest = journal.earliest();
    assert!(earliest > 1);
    journal
        .0
        .with_store(|store| {
            let left = before?.into_iter();
            left.filter(|(key, _)| block::seq_of(*key) < earliest)
                .try_for_each(|(key, value)| store.insert(key, value))
        })
        .unwrap();
    journal.trim(190).unwrap();
    assert!(journal.earliest() > earliest);
    assert_eq!(journal.bytes(), kept(&journal));
    let first = journal.0.with_store(|store| Ok(blocks(store)[0].0));
    assert_eq!(block::seq_of(first.unwrap()), journal.earliest());
}
