//! Reads blocks in order and checks that they chain.

use bytes::Bytes;
use hub_protocol::Seq;

use super::{Block, Defect, ENTRY_HEADER, entry_len};
use crate::journal::Entry;

impl Block {
    /// Checks that the block follows `before`: its number, its chain and its index in the commit fit.
    fn check_follows(&self, before: &Self) -> Result<(), Defect> {
        let numbered = match self.part {
            // The lost numbers may include skipped ones, so any later number may follow them.
            0 if before.is_lost() => self.first > before.last(),
            0 if self.skips => self.first > before.last() + 1,
            0 => self.first == before.last() + 1,
            part => self.first == before.last() && part == before.part + 1,
        };
        if !numbered {
            return Err(Defect::Broken("a block is missing"));
        }
        if self.chain != before.chain_after() {
            return Err(Defect::Broken("a block does not chain to the one before"));
        }
        let begins = before.index + 1 == before.total && self.index == 0;
        let continues = self.index == before.index + 1 && self.total == before.total;
        if !(begins || continues || before.is_lost() || self.is_lost()) {
            return Err(Defect::Broken("a block of a commit is missing"));
        }
        Ok(())
    }
}

/// A reader of consecutive blocks, which may begin at any one: each block must chain to the one before.
#[derive(Debug, Default)]
pub struct ChainReader {
    before: Option<Block>,
    /// The bytes so far of a large record whose later parts have not been read yet.
    partial: Option<Vec<u8>>,
}

impl ChainReader {
    /// Whether the reader is inside a record and needs its next part.
    pub fn is_within_record(&self) -> bool {
        self.partial.is_some()
    }

    /// Checks the next block and returns the entries that it completes.
    pub fn step(&mut self, block: &Block) -> Result<Vec<Entry>, Defect> {
        if self.is_within_record() != (block.part > 0) {
            return Err(Defect::Broken("a part of a record is missing"));
        }
        if let Some(before) = &self.before {
            block.check_follows(before)?;
        }
        self.before = Some(block.clone());
        if block.is_lost() {
            return Ok(Vec::new());
        }
        if block.part > 0 || block.is_cut() {
            return self.take_part(block);
        }
        entries(&block.body, block.first, block.entries.into())
    }

    fn take_part(&mut self, block: &Block) -> Result<Vec<Entry>, Defect> {
        let mut bytes = self.partial.take().unwrap_or_default();
        bytes.extend_from_slice(&block.body);
        let length =
            ENTRY_HEADER + entry_len(&bytes).ok_or(Defect::Broken("an entry is cut short"))?;
        if bytes.len() < length {
            self.partial = Some(bytes);
            return Ok(Vec::new());
        }
        if bytes.len() > length {
            return Err(Defect::Broken(
                "a record's parts are longer than the record",
            ));
        }
        let bytes = Bytes::from(bytes);
        Ok(vec![Entry {
            seq: block.first,
            kind: bytes[0],
            payload: bytes.slice(ENTRY_HEADER..),
        }])
    }
}

/// Decodes `body` into its `count` entries, numbered from `first`.
pub(in crate::journal) fn entries(
    body: &Bytes,
    first: Seq,
    count: usize,
) -> Result<Vec<Entry>, Defect> {
    let mut found = Vec::with_capacity(count);
    let mut at = 0;
    for seq in (first..).take(count) {
        let rest = &body[at..];
        let length = entry_len(rest).ok_or(Defect::Broken("an entry is cut short"))?;
        let end = at + ENTRY_HEADER + length;
        if end > body.len() {
            return Err(Defect::Broken("an entry is cut short"));
        }
        found.push(Entry {
            seq,
            kind: rest[0],
            payload: body.slice(at + ENTRY_HEADER..end),
        });
        at = end;
    }
    if at != body.len() {
        return Err(Defect::Broken("a block is longer than its entries"));
    }
    Ok(found)
}
