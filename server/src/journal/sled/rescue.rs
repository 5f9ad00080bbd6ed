//! Copying what is verified into a journal in the making: after a failed write, and for `hubd adopt`.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hub_protocol::{Epoch, Seq};

use super::making::{Lock, Making};
use super::open::{check, prepare, read_anchor, sled_error};
use super::store::{self, SYNC_EVERY, Store};
use super::{Fences, Files, OpenError};
use crate::journal::block::{self, Block, Walk};
use crate::journal::epoch::Anchor;
use crate::journal::{JournalError, durable, snapshot};

/// How far above the last number that may have been used the next one lies.
const GAP: Seq = 1_000_000;

/// What could be saved.
#[derive(Debug, Clone)]
pub struct Rescued {
    /// The journal's new identity.
    pub epoch: Epoch,
    /// The first record saved; [`Rescued::next`] when none was.
    pub first: Seq,
    /// The last record saved; `first - 1` when none was.
    pub head: Seq,
    /// The last number that may have been given to a record before.
    pub used: Seq,
    /// Why nothing after `head` could be saved, if there was something.
    pub broken: Option<String>,
}

impl Rescued {
    /// Where numbers go on.
    pub fn next(&self) -> Seq {
        self.used + GAP
    }
}

/// What was copied.
#[derive(Debug, Default)]
pub(in crate::journal) struct Copied {
    /// The first record, 0 when nothing was copied.
    pub(in crate::journal) first: Seq,
    first_chain: u32,
    /// The last record, 0 when nothing was copied.
    pub(in crate::journal) head: Seq,
    /// The chain after it.
    pub(in crate::journal) chain: u32,
    bytes: u64,
    /// Why the rest was not, if there is one.
    pub(in crate::journal) broken: Option<String>,
}

impl Copied {
    /// What a journal must contain that has what was copied, or none of it and begins with `first`.
    pub(in crate::journal) fn anchor(&self, epoch: Epoch, first: Seq) -> Anchor {
        Anchor {
            synced: self.head.max(first - 1),
            chain: self.chain,
            bytes: self.bytes,
            ..Anchor::empty(epoch, first, self.first_chain)
        }
    }
}

/// After a failed write: the page cache may show what is not on the disk, so it is written again, elsewhere.
pub(super) fn replace_suspect(lock: &Lock, fences: Fences) -> Result<(), OpenError> {
    tracing::warn!("a write failed in the last run: the journal is copied into a fresh directory");
    let making = Making::begin(lock)?;
    let copied = copy_verified(&making, fences)?;
    if let Some(reason) = copied.broken {
        let at = copied.head + 1;
        return Err(OpenError::Broken { at, reason });
    }
    // sled may pass over what it cannot read, without a word.
    if let Some(anchor) = read_anchor(lock.files())? {
        let copy = Store::open(&making.files().journal(), true).map_err(sled_error)?;
        check(&copy, &anchor, lock.files(), fences)?;
    }
    making.put_in_place()?;
    Ok(())
}

/// The last number that may have been given to a record, by what lies beside the store in `files`.
pub(in crate::journal) fn known_used(files: &Files) -> Result<Seq, OpenError> {
    let synced = match read_anchor(files) {
        Err(OpenError::NoEpoch) | Ok(None) => 0,
        Ok(Some(anchor)) => anchor.synced,
        Err(error) => return Err(error),
    };
    let snapshots = snapshot::list(&files.snapshots())?;
    Ok(snapshots
        .first()
        .map_or(synced, |(named, _)| synced.max(*named)))
}

/// Copies complete commits, up to the first block that is not what was written.
pub(in crate::journal) fn copy_verified(
    making: &Making<'_>,
    fences: Fences,
) -> Result<Copied, OpenError> {
    let target = making.files().journal();
    prepare(&target)?;
    let to = Store::open(&target, true).map_err(sled_error)?;
    let mut copied = Copied::default();
    // sled would make an empty one.
    if making.replaces().db().exists() {
        let source = making.replaces().journal();
        prepare(&source)?;
        match Store::open(&source, fences.fdatasync) {
            Ok(from) => copy(&from, &to, &mut copied)?,
            Err(error) if is_damage(&error) => copied.broken = Some(error.to_string()),
            Err(error) => return Err(sled_error(error)),
        }
    }
    to.sync()?;
    durable::sync_dir(&making.files().root)?;
    Ok(copied)
}

/// Whether it fails for what is stored, rather than for what is around it: then nothing but the rest is lost.
fn is_damage(error: &::sled::Error) -> bool {
    match error {
        ::sled::Error::Io(error) => {
            error.kind() == io::ErrorKind::UnexpectedEof
                || error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
        }
        _ => true,
    }
}

fn copy(from: &Store, to: &Store, copied: &mut Copied) -> Result<(), JournalError> {
    let mut walk = Walk::new(true);
    let mut commit: Vec<Block> = Vec::new();
    let mut unsynced = 0;
    let mut blocks = from.blocks(block::key(0, 0));
    // sled may panic on what it does not expect to read.
    let mut next = || catch_unwind(AssertUnwindSafe(|| blocks.next()));
    loop {
        let block = match next() {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(()),
            Err(_) => {
                copied.broken = Some("sled panicked while reading".into());
                return Ok(());
            }
        };
        let is_leftover = matches!(&block, Ok((_, block)) if block.part > 0);
        let stepped = block.and_then(|(_, block)| Ok(walk.step(&block).map(|_| block)?));
        match stepped {
            Ok(block) => commit.push(block),
            // The rest of a record whose beginning retention has dropped.
            Err(_) if commit.is_empty() && copied.head == 0 && is_leftover => continue,
            Err(store::Fault::Sled(error)) if !is_damage(&error) => {
                return Err(store::write_error(error));
            }
            Err(fault) => {
                copied.broken = Some(fault.to_string());
                return Ok(());
            }
        }
        if walk.is_complete() {
            unsynced += write(to, copied, &mut commit)?;
        }
        if unsynced > SYNC_EVERY {
            to.sync()?;
            unsynced = 0;
        }
    }
}

fn write(to: &Store, copied: &mut Copied, commit: &mut Vec<Block>) -> Result<usize, JournalError> {
    let mut size = 0;
    for block in commit.drain(..) {
        if copied.head == 0 {
            (copied.first, copied.first_chain) = (block.first, block.chain);
        }
        (copied.head, copied.chain) = (block.last(), block.chain_after());
        copied.bytes += block.body_len();
        let (key, value) = block.encode();
        size += value.len();
        to.insert(key, value)?;
    }
    Ok(size)
}
