//! Copying what is verified into a fresh directory: after a failed write, and for `hubd adopt`.

use std::fs;
use std::io;
use std::path::PathBuf;

use hub_protocol::{Epoch, Seq};

use super::open::{lock, prepare, random_epoch, read_anchor, sled_error};
use super::store::{self, SYNC_EVERY, Store};
use super::{Fences, Files, OpenError};
use crate::journal::block::{self, Block, Walk};
use crate::journal::epoch::{Anchor, EpochFile};
use crate::journal::snapshot::{self, Snapshots};
use crate::journal::{JournalError, durable};

/// What could be saved.
#[derive(Debug, Clone)]
pub struct Rescued {
    /// The journal's new identity.
    pub epoch: Epoch,
    /// The first record saved.
    pub first: Seq,
    /// The last record saved; `first - 1` when none was.
    pub head: Seq,
    /// The last number that may have been given to a record before.
    pub used: Seq,
    /// Why nothing after `head` could be saved, if there was something.
    pub broken: Option<String>,
    /// Where the files from before are.
    pub old: PathBuf,
}

/// Gives the journal in `files` a new identity and keeps what can be verified. The caller numbers on from above
/// [`Rescued::used`]. Nothing is deleted: the store of before stays in `journal.replaced`.
pub fn adopt(files: &Files, fences: Fences) -> Result<Rescued, OpenError> {
    let _lock = lock(files)?;
    let anchor = read_anchor(files).or_else(|error| match error {
        OpenError::NoEpoch => Ok(None),
        error => Err(error),
    })?;
    let copied = copy_verified(files, fences)?;
    let epoch = random_epoch()?;
    let used = [
        copied.head,
        anchor.map_or(0, |anchor| anchor.synced),
        newest_named(files)?,
    ];
    let rescued = Rescued {
        epoch,
        first: copied.first,
        head: copied.head,
        used: used.into_iter().max().unwrap_or(0),
        broken: copied.broken.clone(),
        old: replaced(files),
    };
    swap(files)?;
    EpochFile::create(&files.epoch(), copied.anchor(epoch))?;
    keep_snapshots(files, &rescued)?;
    forget_suspicion(files)?;
    Ok(rescued)
}

/// After a failed write: the page cache may show what is not on the disk, so it is written again, elsewhere.
pub(super) fn replace_suspect(files: &Files, fences: Fences) -> Result<(), OpenError> {
    tracing::warn!("a write failed in the last run: the journal is copied into a fresh directory");
    // Without `journal` the last attempt was cut short between the two renames: the copy is complete.
    if files.journal().exists() {
        copy_verified(files, fences)?;
    }
    swap(files)?;
    forget_suspicion(files)?;
    Ok(())
}

fn forget_suspicion(files: &Files) -> io::Result<()> {
    match fs::remove_file(files.suspect()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => durable::sync_dir(&files.root),
    }
}

fn fresh(files: &Files) -> PathBuf {
    files.root.join("journal.fresh")
}

fn replaced(files: &Files) -> PathBuf {
    files.root.join("journal.replaced")
}

/// Puts the copy in the journal's place.
fn swap(files: &Files) -> io::Result<()> {
    if fresh(files).exists() && files.journal().exists() {
        remove_all(&replaced(files))?;
        fs::rename(files.journal(), replaced(files))?;
    }
    fs::rename(fresh(files), files.journal())?;
    durable::sync_dir(&files.root)
}

fn remove_all(dir: &PathBuf) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

struct Copied {
    first: Seq,
    first_chain: u32,
    head: Seq,
    chain: u32,
    bytes: u64,
    broken: Option<String>,
}

impl Copied {
    fn anchor(&self, epoch: Epoch) -> Anchor {
        Anchor {
            synced: self.head,
            chain: self.chain,
            bytes: self.bytes,
            ..Anchor::empty(epoch, self.first, self.first_chain)
        }
    }
}

/// Copies complete commits, up to the first block that is not what was written.
fn copy_verified(files: &Files, fences: Fences) -> Result<Copied, OpenError> {
    remove_all(&fresh(files))?;
    prepare(&files.journal())?;
    prepare(&fresh(files))?;
    let from = Store::open(&files.journal(), fences.fdatasync).map_err(sled_error)?;
    let to = Store::open(&fresh(files), true).map_err(sled_error)?;
    let copied = copy(&from, &to)?;
    drop((from, to));
    Ok(copied)
}

fn copy(from: &Store, to: &Store) -> Result<Copied, JournalError> {
    let mut copied = Copied {
        first: 1,
        first_chain: 0,
        head: 0,
        chain: 0,
        bytes: 0,
        broken: None,
    };
    let mut walk = Walk::new(true);
    let mut commit: Vec<Block> = Vec::new();
    let mut unsynced = 0;
    for block in from.blocks(block::key(0, 0)) {
        let is_leftover = matches!(&block, Ok((_, block)) if block.part > 0);
        let stepped = block.and_then(|(_, block)| Ok(walk.step(&block).map(|_| block)?));
        let block = match stepped {
            Ok(block) => block,
            // The rest of a record whose beginning retention has dropped.
            Err(_) if commit.is_empty() && copied.head == 0 && is_leftover => continue,
            Err(store::Fault::Sled(::sled::Error::Io(error))) => return Err(error.into()),
            Err(fault) => {
                copied.broken = Some(fault.to_string());
                break;
            }
        };
        commit.push(block);
        if walk.is_complete() {
            unsynced += write(to, &mut copied, &mut commit)?;
        }
        if unsynced > SYNC_EVERY {
            to.sync()?;
            unsynced = 0;
        }
    }
    to.sync()?;
    Ok(copied)
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

/// The highest number that a snapshot's name tells.
fn newest_named(files: &Files) -> io::Result<Seq> {
    Ok(snapshot::list(&files.snapshots())?
        .first()
        .map_or(0, |(seq, _)| *seq))
}

/// Snapshots of what was saved go on under the new identity; those that know more than the journal are put away.
fn keep_snapshots(files: &Files, rescued: &Rescued) -> io::Result<()> {
    let dir = files.snapshots();
    let found = snapshot::list(&dir)?;
    let usable = found
        .iter()
        .filter_map(|(_, path)| snapshot::read(path).ok());
    let usable: Vec<_> = usable
        .filter(|it| it.seq <= rescued.head && it.seq + 1 >= rescued.first)
        .collect();
    let snapshots = Snapshots::new(&dir, rescued.epoch);
    snapshots.clear()?;
    usable
        .iter()
        .rev()
        .try_for_each(|it| snapshots.save(it.seq, &it.payload))
}
