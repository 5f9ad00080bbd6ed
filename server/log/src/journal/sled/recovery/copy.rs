//! Copies a journal into another store, block by block, and skips blocks that cannot be read.

use hub_protocol::Seq;

use super::{CopiedRecords, is_damage};
use crate::journal::JournalError;
use crate::journal::block::{self, Block, BlockKey, ChainReader};
use crate::journal::sled::read::lost;
use crate::journal::sled::store::{self, BlockStore, ReadError, SYNC_EVERY};

/// A source of blocks in key order.
pub(super) trait BlockSource {
    /// Returns the blocks with keys from `start` on, up to the first that cannot be read.
    fn blocks_from(&self, start: BlockKey) -> Box<dyn Iterator<Item = ReadBlock> + '_>;

    /// Returns the first record at or after `from` whose block can be read and begins with a whole record.
    fn readable_from(&self, from: Seq) -> Result<Option<Seq>, JournalError>;
}

/// A block that was read, or why it could not be.
pub(super) type ReadBlock = Result<(BlockKey, Block), ReadError>;

impl BlockSource for BlockStore {
    fn blocks_from(&self, start: BlockKey) -> Box<dyn Iterator<Item = ReadBlock> + '_> {
        Box::new(self.blocks(start))
    }

    fn readable_from(&self, from: Seq) -> Result<Option<Seq>, JournalError> {
        lost::next_readable(self, from, Seq::MAX - 1)
    }
}

/// A running copy.
pub(super) struct BlockCopier<'a> {
    to: &'a BlockStore,
    copied: &'a mut CopiedRecords,
    /// The record at which the copy must begin, and the chain before it; `None` accepts any beginning.
    begin: Option<(Seq, u32)>,
    reader: ChainReader,
    commit: Vec<Block>,
    unsynced: usize,
}

/// Why the copy stopped before the end of the source.
enum CopyError {
    /// The data differs from the data that was written.
    Damage(String),
    /// The storage failed.
    Storage(JournalError),
}

impl<'a> BlockCopier<'a> {
    pub(super) fn new(
        to: &'a BlockStore,
        copied: &'a mut CopiedRecords,
        begin: Option<(Seq, u32)>,
    ) -> Self {
        Self {
            to,
            copied,
            begin,
            reader: ChainReader::new(true),
            commit: Vec::new(),
            unsynced: 0,
        }
    }

    pub(super) fn run(mut self, from: &dyn BlockSource) -> Result<(), JournalError> {
        let mut at = block::key(self.begin.map_or(0, |(first, _)| first), 0);
        loop {
            let reason = match self.copy_readable(from.blocks_from(at)) {
                Ok(()) => return Ok(()),
                Err(CopyError::Storage(error)) => return Err(error),
                Err(CopyError::Damage(reason)) => reason,
            };
            let Some(next) = self.next_readable(from) else {
                self.copied.broken = Some(reason);
                return Ok(());
            };
            self.step_over(&next, &reason)?;
            at = block::key(next.first, 0);
        }
    }

    fn copy_readable(&mut self, blocks: impl Iterator<Item = ReadBlock>) -> Result<(), CopyError> {
        for block in blocks {
            let is_leftover = matches!(&block, Ok((_, block)) if block.part > 0);
            let stepped = block.and_then(|(_, block)| self.step(block));
            match stepped {
                Ok(()) => {}
                // The blocks continue a record whose first part retention has dropped.
                Err(_) if self.is_empty() && self.begin.is_none() && is_leftover => continue,
                Err(ReadError::Sled(error)) if !is_damage(&error) => {
                    return Err(CopyError::Storage(store::write_error(error)));
                }
                Err(fault) => return Err(CopyError::Damage(fault.to_string())),
            }
            if self.reader.is_complete() {
                self.write().map_err(CopyError::Storage)?;
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.copied.head == 0 && self.commit.is_empty()
    }

    fn step(&mut self, block: Block) -> Result<(), ReadError> {
        let begins = self
            .begin
            .is_none_or(|place| (block.first, block.chain) == place);
        if self.is_empty() && !begins {
            return Err(ReadError::missing());
        }
        self.reader.step(&block)?;
        self.commit.push(block);
        Ok(())
    }

    /// Returns the last record read so far, and the chain after it.
    fn end(&self) -> (Seq, u32) {
        match (self.commit.last(), self.begin) {
            (Some(last), _) => (last.last(), last.chain_after()),
            (None, Some((first, chain))) if self.copied.head == 0 => (first - 1, chain),
            (None, _) => (self.copied.head, self.copied.chain),
        }
    }

    /// Returns the block at which `from` can be read again. It lies at least one record behind the last one read; if
    /// no record was read yet, it is the first readable block.
    fn next_readable(&mut self, from: &dyn BlockSource) -> Option<Block> {
        // Drop the parts of an incomplete record: the whole record is lost.
        if self.reader.is_within_record()
            && let Some(cut) = self.commit.last().map(|last| last.first)
        {
            self.commit.retain(|block| block.first < cut);
        }
        let (last, _) = self.end();
        let mut at = if self.is_empty() && self.begin.is_none() {
            1
        } else {
            last + 2
        };
        // If the disk fails every read, there is no next block.
        while let Some(next) = from.readable_from(at).unwrap_or_default() {
            match from.blocks_from(block::key(next, 0)).next() {
                Some(Ok((_, block))) => return Some(block),
                _ => at = next + 1,
            }
        }
        None
    }

    /// Writes the blocks read so far, and a block that stands for the lost records before `next`.
    fn step_over(&mut self, next: &Block, reason: &str) -> Result<(), JournalError> {
        self.reader = ChainReader::new(true);
        let (last, chain) = self.end();
        self.write()?;
        if self.is_empty() && self.begin.is_none() {
            return Ok(());
        }
        let gap = Block::for_lost(last + 1, next.first - 1, chain, next.chain);
        tracing::warn!(
            from = gap.first,
            to = gap.last(),
            reason,
            "records are lost"
        );
        self.copied.lost_ranges.push((gap.first, gap.last()));
        // The next block chains to it.
        let _ = self.reader.step(&gap);
        self.commit.push(gap);
        self.write()
    }

    fn write(&mut self) -> Result<(), JournalError> {
        for block in self.commit.drain(..) {
            if self.copied.head == 0 {
                (self.copied.first, self.copied.first_chain) = (block.first, block.chain);
            }
            (self.copied.head, self.copied.chain) = (block.last(), block.chain_after());
            self.copied.bytes += block.body_len();
            self.copied.records += u64::from(block.entries);
            let (key, value) = block.encode();
            self.unsynced += value.len();
            self.to.insert(key, value)?;
        }
        if self.unsynced > SYNC_EVERY {
            self.to.sync()?;
            self.unsynced = 0;
        }
        Ok(())
    }
}
