//! `hubd adopt`: makes a journal with a new identity from the readable records of the old one.

use std::fs;
use std::io;

use bytes::Bytes;

use super::wal::{self, Left};
use crate::core::durable;
use crate::log::journal::epoch::EpochFile;
use crate::log::journal::sled::{
    Copied, Files, Making, OpenError, Options, Rescued, SledJournal, copy_verified, known_used,
    random_epoch,
};
use crate::log::journal::snapshot::{self, Snapshots};

/// Makes a journal with a new identity from the records that can be verified in the existing store, write-ahead log
/// and snapshots, which all stay unchanged. The caller continues numbering from [`Rescued::next`].
pub fn adopt(making: &Making<'_>, options: Options) -> Result<(SledJournal, Rescued), OpenError> {
    let files = making.replaces();
    if files.are_put_aside()? {
        return Err(OpenError::PutAside);
    }
    let copied = copy_verified(making, options.fences)?;
    let mut rescued = Rescued {
        epoch: random_epoch()?,
        first: copied.first,
        head: copied.head,
        used: known_used(files)?.max(copied.head),
        broken: copied.broken.clone(),
        holes: copied.holes.clone(),
        unreadable: copied.unreadable,
    };
    let commits = logged(files, &copied, &mut rescued);
    if rescued.head == 0 {
        (rescued.first, rescued.head) = (rescued.next(), rescued.next() - 1);
    }
    let anchor = copied.anchor(rescued.epoch, rescued.first);
    EpochFile::create(&making.files().epoch(), anchor)?;
    let store = SledJournal::open(&making.files().root, options)?;
    for Left { frame, .. } in commits {
        store.store(&frame.entries)?;
    }
    keep_snapshots(making, &rescued)?;
    Ok((store, rescued))
}

/// Returns the commits of the log that continue the records in `copied`.
fn logged(files: &Files, copied: &Copied, rescued: &mut Rescued) -> Vec<Left> {
    let log = match fs::read(files.wal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Bytes::new(),
        Err(error) => {
            let why = || format!("the file 'wal' cannot be read: {error}");
            rescued.broken.get_or_insert_with(why);
            Bytes::new()
        }
        Ok(bytes) => bytes.into(),
    };
    let mut left = wal::above(copied.head, &log);
    let mut end = (copied.head, copied.chain);
    left.retain(|Left { frame, .. }| {
        rescued.used = rescued.used.max(frame.last());
        let follows = rescued.broken.is_none() && frame.follows(end);
        if follows {
            end = (frame.last(), frame.chain_after);
            rescued.first = rescued.first.max(1);
            rescued.head = frame.last();
        } else {
            rescued.broken.get_or_insert_with(|| wal::GAP.into());
        }
        follows
    });
    left
}

/// Copies the snapshots under the new identity, except those that are newer than the saved records or end before
/// them.
fn keep_snapshots(making: &Making<'_>, rescued: &Rescued) -> io::Result<()> {
    let dir = making.files().snapshots();
    // Create the directory even without snapshots, so that it replaces the old one.
    durable::private_dir(&dir)?;
    let snapshots = Snapshots::new(&dir, rescued.epoch);
    for (_, path) in snapshot::list(&making.replaces().snapshots())?.iter().rev() {
        match snapshot::read(path) {
            Ok(it) if it.seq <= rescued.head && it.seq + 1 >= rescued.first => {
                snapshots.save(it.seq, &it.payload)?;
            }
            _ => {}
        }
    }
    Ok(())
}
