use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::journal::testing::entries;

/// The values of a store.
type Blocks = BTreeMap<BlockKey, Vec<u8>>;

/// Returns the entries of commits with these payload `sizes`, and a store that contains them.
fn stored(commits: &[Vec<usize>]) -> (Vec<Entry>, Blocks) {
    let (mut all, mut store, mut tail) = (Vec::new(), Blocks::new(), Tail::default());
    for sizes in commits {
        let entries = entries(tail.head + 1, sizes);
        let blocks = tail.pack(&entries);
        store.extend(blocks.iter().map(Block::encode));
        tail = tail.after(&blocks, tail.head + entries.len() as u64);
        all.extend(entries);
    }
    (all, store)
}

fn read(store: &Blocks) -> Result<Vec<Entry>, Defect> {
    let mut reader = ChainReader::default();
    let mut found = Vec::new();
    for (key, value) in store {
        found.extend(reader.step(&Block::decode(key, &value.clone().into())?)?);
    }
    Ok(found)
}

proptest! {
    #[test]
    fn packed_entries_are_read_back_unchanged(commits in vec(vec(0_usize..12_000, 1..9), 1..9)) {
        let (entries, store) = stored(&commits);
        prop_assert!(store.values().all(|value| value.len() <= MAX_BLOCK));
        prop_assert_eq!(read(&store).unwrap(), entries);
    }

    #[test]
    fn a_flipped_bit_is_always_detected(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let (_, mut store) = stored(&[vec![100, 5000, 300], vec![40], vec![4000, 10]]);
        let total: usize = store.values().map(Vec::len).sum();
        let mut at = at.index(total);
        for value in store.values_mut() {
            if at < value.len() {
                value[at] ^= 1 << bit;
                break;
            }
            at -= value.len();
        }
        prop_assert!(read(&store).is_err());
    }

    #[test]
    fn a_missing_block_is_always_detected(at in any::<prop::sample::Index>()) {
        let (_, mut store) = stored(&[vec![2500; 3], vec![9000], vec![3000; 3]]);
        // The neighbours do not notice that the first or the last block is missing; the epoch file does.
        let key = *store.keys().nth(1 + at.index(store.len() - 2)).unwrap();
        store.remove(&key);
        prop_assert!(read(&store).is_err());
    }
}

#[test]
fn tiny_commits_share_a_block() {
    let (_, store) = stored(&vec![vec![200]; 9]);
    assert_eq!(store.len(), 1);
}

#[test]
fn the_chain_at_an_entry_does_not_change_when_its_block_grows() {
    let mut tail = Tail::default();
    let first = tail.pack(&entries(1, &[10]));
    tail = tail.after(&first, 1);
    let grown = tail.pack(&entries(2, &[10]));
    assert_eq!(grown[0].chain_at(1), Some(tail.chain));
}

#[test]
fn a_block_of_a_newer_format_is_refused_with_its_version() {
    let (_, store) = stored(&[vec![10]]);
    let (key, mut value) = store.into_iter().next().unwrap();
    value[0] = 3;
    let decode = |value: &[u8]| Block::decode(&key, &value.to_vec().into()).unwrap_err();
    // The same byte after a flipped bit.
    let damage = Defect::Broken("a block's checksum is wrong");
    assert_eq!(decode(&value), damage);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&value[..26]), &value[HEADER..]);
    value[26..HEADER].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(decode(&value), Defect::Version(3));
}

#[test]
fn skipped_numbers_are_distinguished_from_missing_blocks() {
    let (_, mut store) = stored(&[vec![10]]);
    let tail = Tail {
        head: 1,
        chain: chain_of(&store),
        last: None,
        skip_to: Some(999),
    };
    store.extend(tail.pack(&entries(1000, &[10])).iter().map(Block::encode));
    assert_eq!(read(&store).unwrap().last().unwrap().seq, 1000);
}

fn chain_of(store: &Blocks) -> u32 {
    let (key, value) = store.iter().next_back().unwrap();
    Block::decode(key, &value.clone().into())
        .unwrap()
        .chain_after()
}
