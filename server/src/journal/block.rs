//! Blocks: how entries lie in the store, format 1.
//!
//! A block is one value of at most [`MAX_BLOCK`] bytes under a key of ten: the number of its first entry (u64, big
//! endian), then its part (u16, big endian). All other integers are little endian.
//!
//! | offset | bytes | field | meaning |
//! |---|---|---|---|
//! | 0 | 1 | version | 1 |
//! | 1 | 1 | flags | bit 0: numbers between the previous block and this one were skipped; others 0 |
//! | 2 | 2 | entries | how many entries begin in this block |
//! | 4 | 2 | part | which part of a record that is too large for one block; else 0 |
//! | 6 | 8 | first | number of the first entry |
//! | 14 | 4 | index | place among the blocks of its commit, from 0 |
//! | 18 | 4 | total | number of blocks of its commit |
//! | 22 | 4 | chain | CRC-32C over the bodies of all blocks before this one since the journal began |
//! | 26 | 4 | crc | CRC-32C over bytes 0..26 and the body |
//! | 30 | | body | entries: kind (u8), length (u32), payload |
//!
//! Limits: 65,535 entries a block, 65,536 parts a record (266 MB), 2^32 blocks a commit. A record that does not fit into
//! one block begins a block of its own and fills as many as it needs; nothing else is in them.
//!
//! The chain runs over entries, not over blocks: the last block may be rewritten with more entries while it is small,
//! so that many tiny commits do not cost a block each, and no value that was recorded of the chain becomes wrong.

use bytes::{BufMut, Bytes};
use hub_protocol::Seq;

use super::Entry;

mod walk;

pub use walk::Walk;
pub(super) use walk::entries;

/// The newest format this build reads and the one it writes.
pub const VERSION: u8 = 1;
/// The largest value: 17 of them are the most that a leaf of the store holds, and that must stay below the 128 KiB
/// where it begins to keep pages in files of their own, unsynced.
pub const MAX_BLOCK: usize = 4096;
/// Up to this size a last block is rewritten with the next commit's entries. Measured with 200-byte records and one a
/// commit: no slower than a block each, and 9 times fewer blocks to read, keep and delete; at 4,096 it is 15 % slower.
pub const GROW_LIMIT: usize = 2048;
const HEADER: usize = 30;
const ENTRY_HEADER: usize = 5;
const MAX_BODY: usize = MAX_BLOCK - HEADER;
const SKIPS: u8 = 1;
/// The largest entry, with its five bytes of kind and length.
pub const MAX_STORED: usize = MAX_BODY << 16;

/// A block's key in the store.
pub type Key = [u8; 10];

/// The key of part `part` of the block that begins with entry `first`.
pub fn key(first: Seq, part: u16) -> Key {
    let mut key = [0; 10];
    key[..8].copy_from_slice(&first.to_be_bytes());
    key[8..].copy_from_slice(&part.to_be_bytes());
    key
}

/// The number in a key.
pub fn seq_of(key: Key) -> Seq {
    u64::from_be_bytes(*key.first_chunk().expect("a key has ten bytes"))
}

/// The bytes that `entry` takes in a block.
pub fn stored_len(entry: &Entry) -> usize {
    ENTRY_HEADER + entry.payload.len()
}

/// What is wrong with a block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// Written by a newer build.
    #[error("block format {0} is unknown")]
    Version(u8),
    /// Not what was written.
    #[error("{0}")]
    Broken(&'static str),
}

/// A block that was read and whose checksum is right.
#[derive(Debug, Clone)]
pub struct Block {
    /// Whether numbers were skipped before it.
    pub skips: bool,
    /// How many entries begin in it.
    pub entries: u16,
    /// Which part of a large record it is.
    pub part: u16,
    /// The number of its first entry.
    pub first: Seq,
    /// Its place in its commit.
    pub index: u32,
    /// The blocks of its commit.
    pub total: u32,
    /// The chain before it.
    pub chain: u32,
    body: Bytes,
}

impl Block {
    /// Reads the block stored under `key`.
    pub fn decode(key: &[u8], value: &Bytes) -> Result<Self, Defect> {
        let header = value
            .first_chunk::<HEADER>()
            .ok_or(Defect::Broken("a block is shorter than its header"))?;
        if header[0] != VERSION {
            return Err(Defect::Version(header[0]));
        }
        let crc = u32_at(header, 26);
        if crc32c::crc32c_append(crc32c::crc32c(&value[..26]), &value[HEADER..]) != crc {
            return Err(Defect::Broken("a block's checksum is wrong"));
        }
        let block = Self {
            skips: header[1] & SKIPS != 0,
            entries: u16_at(header, 2),
            part: u16_at(header, 4),
            first: u64::from_le_bytes(*header[6..].first_chunk().expect("a header has 30 bytes")),
            index: u32_at(header, 14),
            total: u32_at(header, 18),
            chain: u32_at(header, 22),
            body: value.slice(HEADER..),
        };
        if key != self::key(block.first, block.part) {
            return Err(Defect::Broken("a block lies under another block's key"));
        }
        Ok(block)
    }

    /// The chain after it.
    pub fn chain_after(&self) -> u32 {
        crc32c::crc32c_append(self.chain, &self.body)
    }

    /// The chain after its entry `seq`; only for a block that holds whole entries, of which `seq` is one.
    pub fn chain_at(&self, seq: Seq) -> Option<u32> {
        let mut chain = self.chain;
        let mut at = self.first;
        let mut rest = &self.body[..];
        while at <= seq {
            let length = ENTRY_HEADER + entry_len(rest)?;
            chain = crc32c::crc32c_append(chain, rest.get(..length)?);
            rest = &rest[length..];
            at += 1;
        }
        Some(chain)
    }

    /// The number of the last entry that begins in it or, for a later part, that it continues.
    pub fn last(&self) -> Seq {
        self.first + u64::from(self.entries.max(1)) - 1
    }

    /// Bytes of entries in it.
    pub fn body_len(&self) -> u64 {
        self.body.len() as u64
    }

    /// Whether the entry that begins here goes on in the next block.
    pub fn is_cut(&self) -> bool {
        self.part > 0
            || entry_len(&self.body).is_some_and(|length| ENTRY_HEADER + length > self.body.len())
    }

    /// Whether more entries may be added to it by rewriting it.
    fn can_grow(&self, bytes: usize, entries: usize) -> bool {
        !self.is_cut()
            && HEADER + self.body.len() + bytes <= GROW_LIMIT
            && u16::try_from(usize::from(self.entries) + entries).is_ok()
    }

    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        let mut out = &mut header[..];
        out.put_u8(VERSION);
        out.put_u8(if self.skips { SKIPS } else { 0 });
        out.put_u16_le(self.entries);
        out.put_u16_le(self.part);
        out.put_u64_le(self.first);
        out.put_u32_le(self.index);
        out.put_u32_le(self.total);
        out.put_u32_le(self.chain);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&header[..26]), &self.body);
        header[26..].copy_from_slice(&crc.to_le_bytes());
        header
    }

    /// Its key and value in the store.
    pub fn encode(&self) -> (Key, Vec<u8>) {
        let mut value = Vec::with_capacity(HEADER + self.body.len());
        value.extend_from_slice(&self.header());
        value.extend_from_slice(&self.body);
        (key(self.first, self.part), value)
    }
}

/// Where the next commit goes.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    /// The number of the last entry.
    pub head: Seq,
    /// The chain after it.
    pub chain: u32,
    /// The block that ends with it, if there is one.
    pub last: Option<Block>,
    /// The last number to leave out.
    pub skip_to: Option<Seq>,
}

impl Tail {
    /// The number of the next entry.
    pub fn next(&self) -> Seq {
        self.skip_to.unwrap_or(self.head) + 1
    }

    /// The blocks that store `entries`, which are numbered one after another from above the head, as one commit.
    /// The first may take the place of the last block of before.
    pub fn pack(&self, entries: &[Entry]) -> Vec<Block> {
        let bytes = entries.iter().map(stored_len).sum();
        let follows = entries
            .first()
            .is_some_and(|entry| entry.seq == self.head + 1);
        match &self.last {
            Some(last) if follows && last.can_grow(bytes, entries.len()) => {
                vec![grown(last, entries)]
            }
            _ => self.fresh(entries, !follows),
        }
    }

    fn fresh(&self, entries: &[Entry], skips: bool) -> Vec<Block> {
        let mut bodies = Vec::new();
        for entry in entries {
            place(&mut bodies, entry);
        }
        let total = u32::try_from(bodies.len()).expect("a commit has fewer than 2^32 blocks");
        let mut chain = self.chain;
        let blocks = bodies.into_iter().zip(0..total).map(|(open, index)| {
            let block = Block {
                skips: skips && index == 0,
                entries: open.entries,
                part: open.part,
                first: open.first,
                index,
                total,
                chain,
                body: open.body.into(),
            };
            chain = block.chain_after();
            block
        });
        blocks.collect()
    }

    /// The place after `blocks`, which were packed here and hold entries up to `head`.
    #[must_use]
    pub fn after(&self, blocks: &[Block], head: Seq) -> Self {
        let Some(last) = blocks.last() else {
            return self.clone();
        };
        Self {
            head,
            chain: last.chain_after(),
            last: Some(last.clone()),
            skip_to: None,
        }
    }
}

struct Open {
    first: Seq,
    part: u16,
    entries: u16,
    body: Vec<u8>,
}

fn place(bodies: &mut Vec<Open>, entry: &Entry) {
    let length = stored_len(entry);
    if let Some(open) = bodies.last_mut() {
        // A block that begins with a large record is full or the record's last part, and stays alone.
        let whole = open.part == 0 && open.body.len() + length <= MAX_BODY;
        if whole && open.entries < u16::MAX {
            open.entries += 1;
            put(&mut open.body, entry);
            return;
        }
    }
    let mut bytes = Vec::with_capacity(length);
    put(&mut bytes, entry);
    for (piece, part) in bytes.chunks(MAX_BODY).zip(0..=u16::MAX) {
        bodies.push(Open {
            first: entry.seq,
            part,
            entries: u16::from(part == 0),
            body: piece.to_vec(),
        });
    }
}

fn grown(last: &Block, entries: &[Entry]) -> Block {
    let mut body = last.body.to_vec();
    for entry in entries {
        put(&mut body, entry);
    }
    Block {
        entries: last.entries + u16::try_from(entries.len()).expect("checked by can_grow"),
        body: body.into(),
        ..last.clone()
    }
}

/// Adds `entry` as it lies in a block: kind, length, payload.
pub(super) fn put(body: &mut Vec<u8>, entry: &Entry) {
    body.put_u8(entry.kind);
    body.put_u32_le(u32::try_from(entry.payload.len()).expect("an entry is below 4 GiB"));
    body.put_slice(&entry.payload);
}

fn entry_len(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(1..ENTRY_HEADER)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}

fn u16_at(header: &[u8; HEADER], at: usize) -> u16 {
    u16::from_le_bytes([header[at], header[at + 1]])
}

fn u32_at(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

#[cfg(test)]
mod tests;
