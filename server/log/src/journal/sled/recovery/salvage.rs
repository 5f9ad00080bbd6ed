//! Finds blocks in sled's file without sled, for a file that sled cannot read. Each block has its own checksum, and
//! the blocks chain.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use hub_protocol::Seq;

use super::copy::{BlockSource, ReadBlock};
use crate::journal::JournalError;
use crate::journal::block::{self, Block, BlockKey, Link, MAX_BLOCK};
use crate::journal::sled::data_file;

/// The number of bytes searched at once.
const WINDOW: usize = 4 << 20;

/// The blocks of sled's file that make up the journal.
#[derive(Debug)]
pub(super) struct SalvagedBlocks {
    file: File,
    chosen: Vec<FoundBlock>,
    /// The number of bytes of the file that could not be read.
    pub(super) unreadable: u64,
}

/// A block found in the file; it may be an older version, or a dropped one.
#[derive(Debug, Clone, Copy)]
struct FoundBlock {
    offset: u64,
    length: usize,
    link: Link,
}

impl FoundBlock {
    fn key(&self) -> BlockKey {
        block::key(self.link.first, self.link.part)
    }
}

impl SalvagedBlocks {
    /// Finds the blocks of the journal in sled's file at `path`. `begin` is the first record and the chain before it;
    /// it is ignored if no block has them.
    pub(super) fn read(path: &Path, begin: Option<(Seq, u32)>) -> io::Result<Self> {
        let file = File::open(path)?;
        let (found, unreadable) = find(&file)?;
        Ok(Self {
            chosen: choose(found, begin),
            file,
            unreadable,
        })
    }

    fn block(&self, found: &FoundBlock) -> ReadBlock {
        let mut bytes = vec![0; found.length];
        self.file
            .read_exact_at(&mut bytes, found.offset)
            .map_err(::sled::Error::Io)?;
        let key = found.key();
        Ok((key, Block::decode(&key, &Bytes::from(bytes))?))
    }
}

impl BlockSource for SalvagedBlocks {
    fn blocks_from(&self, start: BlockKey) -> Box<dyn Iterator<Item = ReadBlock> + '_> {
        let at = self.chosen.partition_point(|found| found.key() < start);
        Box::new(self.chosen[at..].iter().map(|found| self.block(found)))
    }

    fn readable_from(&self, from: Seq) -> Result<Option<Seq>, JournalError> {
        let at = self.chosen.partition_point(|found| found.link.first < from);
        let next = self.chosen[at..].iter().find(|found| found.link.part == 0);
        Ok(next.map(|found| found.link.first))
    }
}

/// Finds all blocks in `file`, including replaced and dropped ones. Returns them and the number of unreadable bytes.
fn find(file: &File) -> io::Result<(Vec<FoundBlock>, u64)> {
    let (mut found, mut lost, mut at) = (Vec::new(), 0, 0);
    let length = file.metadata()?.len();
    let mut window = vec![0; WINDOW + MAX_BLOCK];
    // The number of bytes kept from the previous window, because a block may cross its end.
    let mut kept = 0;
    while at < length {
        let read = data_file::fill(file, &mut window[kept..], at + kept as u64)?;
        lost += read.lost;
        let filled = kept + read.bytes;
        find_in(&window[..filled], at, &mut found);
        window.copy_within(WINDOW.min(filled)..filled, 0);
        kept = filled.saturating_sub(WINDOW);
        at += WINDOW as u64;
    }
    Ok((found, lost))
}

/// Finds the blocks that begin in the first [`WINDOW`] bytes of `window`, whose offset in the file is `at`.
fn find_in(window: &[u8], at: u64, found: &mut Vec<FoundBlock>) {
    let mut here = 0;
    // The version is the first byte of every block.
    while let Some(next) = memchr::memchr2(block::VERSION, block::LOST_VERSION, &window[here..]) {
        here += next;
        if here >= WINDOW {
            return;
        }
        let Some((block, length)) = Block::salvage(&window[here..]) else {
            here += 1;
            continue;
        };
        found.push(FoundBlock {
            offset: at + here as u64,
            length,
            link: block.link(),
        });
        here += length;
    }
}

/// Chooses the blocks of the journal from all blocks `found`: each chosen block chains to the one before. If no block
/// does, the next readable one follows. If several chain, it prefers those with a successor, and of these the one with
/// the most entries.
fn choose(mut found: Vec<FoundBlock>, begin: Option<(Seq, u32)>) -> Vec<FoundBlock> {
    found.sort_by_key(|it| (it.link.first, it.link.part, it.link.last));
    let mut by_chain: HashMap<u32, Vec<FoundBlock>> = HashMap::new();
    for it in &found {
        by_chain.entry(it.link.chain).or_default().push(*it);
    }
    let behind = |before: FoundBlock| {
        let next = by_chain.get(&before.link.chain_after).into_iter().flatten();
        next.filter(move |it| it.link.check_follows(&before.link).is_ok())
    };
    let weight = |it: &&FoundBlock| (behind(**it).next().is_some(), it.link.last, it.length);
    // A restored backup may begin at another record.
    let begin = begin.filter(|place| {
        found
            .iter()
            .any(|it| (it.link.first, it.link.chain) == *place)
    });
    let begins =
        |it: &&FoundBlock| begin.is_none_or(|place| (it.link.first, it.link.chain) == place);
    let first = found.iter().filter(begins).map(|it| it.link.first).next();
    let first = found
        .iter()
        .filter(begins)
        .filter(|it| Some(it.link.first) == first && it.link.part == 0);
    let mut next = first.max_by_key(weight).copied();
    let mut last = begin.map_or(0, |(first, _)| first.saturating_sub(1));
    let mut chosen = Vec::new();
    loop {
        let Some(it) = next.take() else {
            // No block chains to the last one: continue with the next block that has a successor, else with the next
            // block.
            let rest = &found[found.partition_point(|it| it.link.first <= last)..];
            let heads = || rest.iter().filter(|it| it.link.part == 0);
            let sound = heads().find(|it| behind(**it).next().is_some());
            let Some(at) = sound.or(heads().next()).map(|it| it.link.first) else {
                return chosen;
            };
            next = heads()
                .filter(|it| it.link.first == at)
                .max_by_key(weight)
                .copied();
            continue;
        };
        last = it.link.last;
        next = behind(it).max_by_key(weight).copied();
        chosen.push(it);
    }
}
