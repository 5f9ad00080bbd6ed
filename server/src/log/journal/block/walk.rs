//! Reads blocks in order and checks that they chain.

use bytes::Bytes;
use hub_protocol::Seq;

use super::{Block, Defect, ENTRY_HEADER, entry_len};
use crate::log::journal::Entry;

/// A reader of consecutive blocks: each block must chain to the one before.
#[derive(Debug, Default)]
pub struct Walk {
    before: Option<Before>,
    /// The bytes so far of a large record whose later parts have not been read yet.
    open: Option<Vec<u8>>,
    unchained: bool,
}

#[derive(Debug)]
struct Before {
    last: Seq,
    part: u16,
    chain: u32,
    index: u32,
    total: u32,
    is_hole: bool,
}

impl Walk {
    /// Creates a walk that may begin at any block. `chained` is off only in tests.
    pub fn new(chained: bool) -> Self {
        Self {
            unchained: !chained,
            ..Self::default()
        }
    }

    /// Whether the walk is inside a record and needs its next part.
    pub fn is_within_record(&self) -> bool {
        self.open.is_some()
    }

    /// Checks the next block and returns the entries that it completes.
    pub fn step(&mut self, block: &Block) -> Result<Vec<Entry>, Defect> {
        self.check(block)?;
        self.before = Some(Before {
            last: block.last(),
            part: block.part,
            chain: block.chain_after(),
            index: block.index,
            total: block.total,
            is_hole: block.is_hole(),
        });
        if block.is_hole() {
            return Ok(Vec::new());
        }
        if block.part > 0 || block.is_cut() {
            return self.take_part(block);
        }
        entries(&block.body, block.first, block.entries.into())
    }

    /// Whether the walk has read every block of the last commit.
    pub fn is_complete(&self) -> bool {
        self.open.is_none()
            && self
                .before
                .as_ref()
                .is_none_or(|before| before.index + 1 == before.total)
    }

    fn check(&self, block: &Block) -> Result<(), Defect> {
        if (self.open.is_some()) != (block.part > 0) {
            return Err(Defect::Broken("a part of a record is missing"));
        }
        let Some(before) = self.before.as_ref().filter(|_| !self.unchained) else {
            return Ok(());
        };
        let follows = match block.part {
            // The lost numbers may include skipped ones, so any later number may follow them.
            0 if before.is_hole => block.first > before.last,
            0 if block.skips => block.first > before.last + 1,
            0 => block.first == before.last + 1,
            part => block.first == before.last && part == before.part + 1,
        };
        if !follows {
            return Err(Defect::Broken("a block is missing"));
        }
        if block.chain != before.chain {
            return Err(Defect::Broken("a block does not chain to the one before"));
        }
        let begins = before.index + 1 == before.total && block.index == 0;
        let goes_on = block.index == before.index + 1 && block.total == before.total;
        let cut = before.is_hole || block.is_hole();
        if !(begins || goes_on || cut) {
            return Err(Defect::Broken("a block of a commit is missing"));
        }
        Ok(())
    }

    fn take_part(&mut self, block: &Block) -> Result<Vec<Entry>, Defect> {
        let mut bytes = self.open.take().unwrap_or_default();
        bytes.extend_from_slice(&block.body);
        let length =
            ENTRY_HEADER + entry_len(&bytes).ok_or(Defect::Broken("an entry is cut short"))?;
        if bytes.len() < length {
            self.open = Some(bytes);
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
pub(in crate::log::journal) fn entries(
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
