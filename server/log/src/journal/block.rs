//! Blocks: the form in which entries are stored in sled, format 1.
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
//! Limits: 65,535 entries a block, 65,536 parts a record (266 MB), 2^32 blocks a commit. A record that does not fit
//! into one block starts a new block and fills as many blocks as it needs; these blocks contain no other record.
//!
//! A block of version 2 replaces stored records that can no longer be read. Its entries are 0, its index 0 of 1, and
//! its body is the number of the last of these records (u64) and the chain after it (u32). Only a copy of
//! segments that lack these records writes such a block, so builds that know version 1 only can read a journal without such
//! a loss.
//!
//! The chain covers the entries, not the blocks. The last block may therefore be rewritten with more entries while it
//! is small, without changing a recorded chain value, so that slow traffic leaves few values.

use bytes::{BufMut, Bytes};
use hub_protocol::Seq;

use super::Entry;

mod chain;
mod pack;

pub use chain::ChainReader;
pub(super) use chain::entries;
pub use pack::Tail;

/// The format version of a block with entries.
pub const VERSION: u8 = 1;
/// The format version of a block that stands for lost records; the newest that this build reads.
pub const LOST_VERSION: u8 = 2;
/// The largest value in bytes. A leaf of the store holds at most 17 values and must stay below 128 KiB, because the
/// store writes larger pages to separate files without syncing them.
pub const MAX_BLOCK: usize = 4096;
const HEADER: usize = 30;
const ENTRY_HEADER: usize = 5;
const MAX_BODY: usize = MAX_BLOCK - HEADER;
const SKIPS: u8 = 1;
/// The size of the largest entry in bytes, including five bytes for kind and length.
pub const MAX_STORED: usize = MAX_BODY << 16;

/// A block's key in the store: first entry (u64) and part (u16), big endian.
pub type BlockKey = [u8; 10];

/// Returns the key of part `part` of the block whose first entry is `first`.
pub fn key(first: Seq, part: u16) -> BlockKey {
    let mut key = [0; 10];
    key[..8].copy_from_slice(&first.to_be_bytes());
    key[8..].copy_from_slice(&part.to_be_bytes());
    key
}

/// Returns the number of the first entry from a block's key.
pub fn seq_of(key: BlockKey) -> Seq {
    u64::from_be_bytes(*key.first_chunk().expect("a key has ten bytes"))
}

/// Returns the number of bytes that `entry` occupies in a block.
pub fn stored_len(entry: &Entry) -> usize {
    ENTRY_HEADER + entry.payload.len()
}

/// Why a block cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// A newer build wrote the block, with this format version.
    #[error("block format {0} is unknown")]
    Version(u8),
    /// The block differs from the data that was written; the text names the defect.
    #[error("{0}")]
    Broken(&'static str),
}

/// A decoded block with a correct checksum.
#[derive(Debug, Clone)]
pub struct Block {
    /// Whether numbers were skipped before this block's first entry.
    pub skips: bool,
    /// The number of entries that begin in this block.
    pub entries: u16,
    /// The part number, from 0, of a record that is too large for one block; else 0.
    pub part: u16,
    /// The number of the first entry.
    pub first: Seq,
    /// The block's index in its commit, from 0.
    pub index: u32,
    /// The number of blocks in its commit.
    pub total: u32,
    /// The chain before the block's body.
    pub chain: u32,
    /// For a block of lost records: the end of the lost range.
    lost: Option<LostBody>,
    body: Bytes,
}

/// The body of a block of lost records: the last lost record, and the chain after it.
#[derive(Debug, Clone, Copy)]
struct LostBody {
    last: Seq,
    chain: u32,
}

impl LostBody {
    const BYTES: usize = 12;

    fn read(body: &[u8]) -> Option<Self> {
        let body: [u8; Self::BYTES] = body.try_into().ok()?;
        Some(Self {
            last: u64::from_le_bytes(*body.first_chunk()?),
            chain: u32::from_le_bytes(*body.last_chunk()?),
        })
    }

    fn bytes(self) -> Bytes {
        let mut body = Vec::with_capacity(Self::BYTES);
        body.put_u64_le(self.last);
        body.put_u32_le(self.chain);
        body.into()
    }
}

impl Block {
    /// Decodes the block stored under `key`, and checks its checksum and that the key is its own.
    pub fn decode(key: &[u8], value: &Bytes) -> Result<Self, Defect> {
        let header = value
            .first_chunk::<HEADER>()
            .ok_or(Defect::Broken("a block is shorter than its header"))?;
        let crc = u32_at(header, 26);
        if crc32c::crc32c_append(crc32c::crc32c(&value[..26]), &value[HEADER..]) != crc {
            return Err(Defect::Broken("a block's checksum is wrong"));
        }
        if ![VERSION, LOST_VERSION].contains(&header[0]) {
            return Err(Defect::Version(header[0]));
        }
        let body = value.slice(HEADER..);
        let lost = match header[0] {
            LOST_VERSION => Some(
                LostBody::read(&body)
                    .ok_or(Defect::Broken("a block of lost records is no such block"))?,
            ),
            _ => None,
        };
        let block = Self {
            skips: header[1] & SKIPS != 0,
            entries: u16_at(header, 2),
            part: u16_at(header, 4),
            first: u64::from_le_bytes(*header[6..].first_chunk().expect("a header has 30 bytes")),
            index: u32_at(header, 14),
            total: u32_at(header, 18),
            chain: u32_at(header, 22),
            lost,
            body,
        };
        if key != self::key(block.first, block.part) {
            return Err(Defect::Broken("a block lies under another block's key"));
        }
        Ok(block)
    }

    /// Returns the block that stands for the lost records `first` to `last`. The chain is `before` in front of them
    /// and `after` behind them.
    pub fn for_lost(first: Seq, last: Seq, before: u32, after: u32) -> Self {
        let body = LostBody { last, chain: after };
        Self {
            skips: false,
            entries: 0,
            part: 0,
            first,
            index: 0,
            total: 1,
            chain: before,
            lost: Some(body),
            body: body.bytes(),
        }
    }

    /// Whether the block stands for lost records.
    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Returns the chain after the block or, for lost records, after the lost range.
    pub fn chain_after(&self) -> u32 {
        if let Some(lost) = self.lost {
            return lost.chain;
        }
        crc32c::crc32c_append(self.chain, &self.body)
    }

    /// Returns the chain after entry `seq`. The block must contain only whole entries, and `seq` must be one of them.
    pub fn chain_at(&self, seq: Seq) -> Option<u32> {
        if let Some(lost) = self.lost {
            return (seq == lost.last).then_some(lost.chain);
        }
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

    /// Returns the number of the last entry that begins in the block or, for a later part, of the entry that it
    /// continues.
    pub fn last(&self) -> Seq {
        if let Some(lost) = self.lost {
            return lost.last;
        }
        self.first + u64::from(self.entries.max(1)) - 1
    }

    /// Returns the size of the block's entries in bytes; 0 for lost records.
    pub fn body_len(&self) -> u64 {
        if self.is_lost() {
            return 0;
        }
        self.body.len() as u64
    }

    /// Whether the block's last entry continues in the next block, or the block continues an entry.
    pub fn is_cut(&self) -> bool {
        if self.is_lost() {
            return false;
        }
        self.part > 0
            || entry_len(&self.body).is_some_and(|length| ENTRY_HEADER + length > self.body.len())
    }

    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        let mut out = &mut header[..];
        out.put_u8(if self.is_lost() {
            LOST_VERSION
        } else {
            VERSION
        });
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

    /// Returns the block's key and value for the store.
    pub fn encode(&self) -> (BlockKey, Vec<u8>) {
        let mut value = Vec::with_capacity(HEADER + self.body.len());
        value.extend_from_slice(&self.header());
        value.extend_from_slice(&self.body);
        (key(self.first, self.part), value)
    }
}

/// Appends `entry` in its stored form: kind, length, payload.
pub(super) fn put_entry(body: &mut Vec<u8>, entry: &Entry) {
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
