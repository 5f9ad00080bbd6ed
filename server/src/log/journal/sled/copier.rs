//! Copies a journal into another store, block by block, and skips blocks that cannot be read.

use hub_protocol::Seq;

use super::carve::Blocks;
use super::rescue::{Copied, is_damage};
use super::store::{self, SYNC_EVERY, Store};
use crate::log::journal::JournalError;
use crate::log::journal::block::{self, Block, Key, Walk};

/// A running copy.
pub(super) struct Copier<'a> {
    to: &'a Store,
    copied: &'a mut Copied,
    /// The record at which the copy must begin, and the chain before it; `None` accepts any beginning.
    begin: Option<(Seq, u32)>,
    walk: Walk,
    commit: Vec<Block>,
    unsynced: usize,
}

/// Why a walk over the source stopped.
enum Stop {
    /// The data differs from the data that was written.
    Damage(String),
    /// The storage failed.
    Storage(JournalError),
}

impl<'a> Copier<'a> {
    pub(super) fn new(to: &'a Store, copied: &'a mut Copied, begin: Option<(Seq, u32)>) -> Self {
        Self {
            to,
            copied,
            begin,
            walk: Walk::new(true),
            commit: Vec::new(),
            unsynced: 0,
        }
    }

    pub(super) fn run(mut self, from: &dyn Blocks) -> Result<(), JournalError> {
        let mut at = block::key(self.begin.map_or(0, |(first, _)| first), 0);
        loop {
            let reason = match self.take_from(from.blocks_from(at)) {
                Ok(()) => return Ok(()),
                Err(Stop::Storage(error)) => return Err(error),
                Err(Stop::Damage(reason)) => reason,
            };
            let Some(next) = self.behind(from) else {
                self.copied.broken = Some(reason);
                return Ok(());
            };
            self.step_over(&next, &reason)?;
            at = block::key(next.first, 0);
        }
    }

    fn take_from(
        &mut self,
        blocks: impl Iterator<Item = Result<(Key, Block), store::Fault>>,
    ) -> Result<(), Stop> {
        for block in blocks {
            let is_leftover = matches!(&block, Ok((_, block)) if block.part > 0);
            let stepped = block.and_then(|(_, block)| self.step(block));
            match stepped {
                Ok(()) => {}
                // The blocks continue a record whose first part retention has dropped.
                Err(_) if self.is_empty() && self.begin.is_none() && is_leftover => continue,
                Err(store::Fault::Sled(error)) if !is_damage(&error) => {
                    return Err(Stop::Storage(store::write_error(error)));
                }
                Err(fault) => return Err(Stop::Damage(fault.to_string())),
            }
            if self.walk.is_complete() {
                self.write().map_err(Stop::Storage)?;
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.copied.head == 0 && self.commit.is_empty()
    }

    fn step(&mut self, block: Block) -> Result<(), store::Fault> {
        let begins = self
            .begin
            .is_none_or(|place| (block.first, block.chain) == place);
        if self.is_empty() && !begins {
            return Err(store::Fault::missing());
        }
        self.walk.step(&block)?;
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
    fn behind(&mut self, from: &dyn Blocks) -> Option<Block> {
        // Drop the parts of an incomplete record: the whole record is lost.
        if self.walk.is_within_record()
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
        self.walk = Walk::new(true);
        let (last, chain) = self.end();
        self.write()?;
        if self.is_empty() && self.begin.is_none() {
            return Ok(());
        }
        let hole = Block::of_lost(last + 1, next.first - 1, chain, next.chain);
        tracing::warn!(
            from = hole.first,
            to = hole.last(),
            reason,
            "records are lost"
        );
        self.copied.holes.push((hole.first, hole.last()));
        // The next block chains to it.
        let _ = self.walk.step(&hole);
        self.commit.push(hole);
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
