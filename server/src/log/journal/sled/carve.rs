//! Finds blocks in sled's file without sled, for a file that sled cannot read. Each block has its own checksum, and
//! the blocks chain.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use hub_protocol::Seq;

use super::store::{Fault, Store};
use super::{holes, readable};
use crate::log::journal::JournalError;
use crate::log::journal::block::{self, Block, Key, MAX_BLOCK};

/// The number of bytes searched at once.
const WINDOW: usize = 4 << 20;

/// A source of blocks in key order.
pub(super) trait Blocks {
    /// Returns the blocks with keys from `start` on, up to the first that cannot be read.
    fn blocks_from(&self, start: Key)
    -> Box<dyn Iterator<Item = Result<(Key, Block), Fault>> + '_>;

    /// Returns the first record at or after `from` whose block can be read and begins with a whole record.
    fn readable_from(&self, from: Seq) -> Result<Option<Seq>, JournalError>;
}

impl Blocks for Store {
    fn blocks_from(
        &self,
        start: Key,
    ) -> Box<dyn Iterator<Item = Result<(Key, Block), Fault>> + '_> {
        Box::new(self.blocks(start))
    }

    fn readable_from(&self, from: Seq) -> Result<Option<Seq>, JournalError> {
        holes::next_readable(self, from, Seq::MAX - 1)
    }
}

/// The blocks of sled's file that make up the journal.
#[derive(Debug)]
pub(super) struct Carved {
    file: File,
    chosen: Vec<Found>,
    /// The number of bytes of the file that could not be read.
    pub(super) unreadable: u64,
}

/// A block found in the file; it may be an older version, or a dropped one.
#[derive(Debug, Clone, Copy)]
struct Found {
    offset: u64,
    length: usize,
    first: Seq,
    last: Seq,
    part: u16,
    skips: bool,
    is_hole: bool,
    index: u32,
    total: u32,
    chain: u32,
    chain_after: u32,
}

impl Found {
    fn key(&self) -> Key {
        block::key(self.first, self.part)
    }

    /// Whether the block continues `before`: its number, its chain and its index in the commit fit.
    fn follows(&self, before: &Self) -> bool {
        let numbered = match self.part {
            0 if self.skips || before.is_hole => self.first > before.last,
            0 => self.first == before.last + 1,
            part => self.first == before.first && part == before.part + 1,
        };
        let begins = before.index + 1 == before.total && self.index == 0;
        let goes_on = self.index == before.index + 1 && self.total == before.total;
        let cut = before.is_hole || self.is_hole;
        numbered && self.chain == before.chain_after && (begins || goes_on || cut)
    }
}

impl Carved {
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

    fn block(&self, found: &Found) -> Result<(Key, Block), Fault> {
        let mut bytes = vec![0; found.length];
        self.file
            .read_exact_at(&mut bytes, found.offset)
            .map_err(::sled::Error::Io)?;
        let key = found.key();
        Ok((key, Block::decode(&key, &Bytes::from(bytes))?))
    }
}

impl Blocks for Carved {
    fn blocks_from(
        &self,
        start: Key,
    ) -> Box<dyn Iterator<Item = Result<(Key, Block), Fault>> + '_> {
        let at = self.chosen.partition_point(|found| found.key() < start);
        Box::new(self.chosen[at..].iter().map(|found| self.block(found)))
    }

    fn readable_from(&self, from: Seq) -> Result<Option<Seq>, JournalError> {
        let at = self.chosen.partition_point(|found| found.first < from);
        let next = self.chosen[at..].iter().find(|found| found.part == 0);
        Ok(next.map(|found| found.first))
    }
}

/// Finds all blocks in `file`, including replaced and dropped ones. Returns them and the number of unreadable bytes.
fn find(file: &File) -> io::Result<(Vec<Found>, u64)> {
    let (mut found, mut lost, mut at) = (Vec::new(), 0, 0);
    let length = file.metadata()?.len();
    let mut window = vec![0; WINDOW + MAX_BLOCK];
    // The number of bytes kept from the previous window, because a block may cross its end.
    let mut kept = 0;
    while at < length {
        let read = readable::fill(file, &mut window[kept..], at + kept as u64)?;
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
fn find_in(window: &[u8], at: u64, found: &mut Vec<Found>) {
    let mut here = 0;
    // The version is the first byte of every block.
    while let Some(next) = memchr::memchr2(block::VERSION, block::HOLE_VERSION, &window[here..]) {
        here += next;
        if here >= WINDOW {
            return;
        }
        let Some((block, length)) = Block::carve(&window[here..]) else {
            here += 1;
            continue;
        };
        found.push(Found {
            offset: at + here as u64,
            length,
            first: block.first,
            last: block.last(),
            part: block.part,
            skips: block.skips,
            is_hole: block.is_hole(),
            index: block.index,
            total: block.total,
            chain: block.chain,
            chain_after: block.chain_after(),
        });
        here += length;
    }
}

/// Chooses the blocks of the journal from all blocks `found`: each chosen block chains to the one before. If no block
/// does, the next readable one follows. If several chain, it prefers those with a successor, and of these the one with
/// the most entries.
fn choose(mut found: Vec<Found>, begin: Option<(Seq, u32)>) -> Vec<Found> {
    found.sort_by_key(|it| (it.first, it.part, it.last));
    let mut by_chain: HashMap<u32, Vec<Found>> = HashMap::new();
    for it in &found {
        by_chain.entry(it.chain).or_default().push(*it);
    }
    let behind = |before: Found| {
        let next = by_chain.get(&before.chain_after).into_iter().flatten();
        next.filter(move |it| it.follows(&before))
    };
    let weight = |it: &&Found| (behind(**it).next().is_some(), it.last, it.length);
    // A restored backup may begin at another record.
    let begin = begin.filter(|place| found.iter().any(|it| (it.first, it.chain) == *place));
    let begins = |it: &&Found| begin.is_none_or(|place| (it.first, it.chain) == place);
    let first = found.iter().filter(begins).map(|it| it.first).next();
    let first = found
        .iter()
        .filter(begins)
        .filter(|it| Some(it.first) == first && it.part == 0);
    let mut next = first.max_by_key(weight).copied();
    let mut last = begin.map_or(0, |(first, _)| first.saturating_sub(1));
    let mut chosen = Vec::new();
    loop {
        let Some(it) = next.take() else {
            // No block chains to the last one: continue with the next block that has a successor, else with the next
            // block.
            let rest = &found[found.partition_point(|it| it.first <= last)..];
            let heads = || rest.iter().filter(|it| it.part == 0);
            let sound = heads().find(|it| behind(**it).next().is_some());
            let Some(at) = sound.or(heads().next()).map(|it| it.first) else {
                return chosen;
            };
            next = heads()
                .filter(|it| it.first == at)
                .max_by_key(weight)
                .copied();
            continue;
        };
        last = it.last;
        next = behind(it).max_by_key(weight).copied();
        chosen.push(it);
    }
}
