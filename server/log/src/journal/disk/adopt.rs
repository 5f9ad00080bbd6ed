//! `hubd adopt`: makes a journal with a new identity from the readable records of the old one.

use std::fs;
use std::io;

use bytes::Bytes;
use hub_core::durable;

use super::wal::{self, UnflushedCommit};
use crate::journal::epoch::EpochFile;
use crate::journal::sled::{
    AdoptedRecords, CopiedRecords, Files, OpenError, Options, SledJournal, StagedJournal,
    copy_verified, known_used, random_epoch,
};
use crate::journal::snapshot::{self, Snapshots};

/// Makes a journal with a new identity from the records that can be verified in the existing store, write-ahead log
/// and snapshots, which all stay unchanged. The caller continues numbering from [`AdoptedRecords::next`].
pub fn adopt(
    staged: &StagedJournal<'_>,
    options: Options,
) -> Result<(SledJournal, AdoptedRecords), OpenError> {
    let files = staged.replaces();
    if files.are_only_replaced()? {
        return Err(OpenError::Replaced);
    }
    let copied = copy_verified(staged, options.checks)?;
    let mut adopted = AdoptedRecords {
        epoch: random_epoch()?,
        first: copied.first,
        head: copied.head,
        used: known_used(files)?.max(copied.head),
        broken: copied.broken.clone(),
        lost_ranges: copied.lost_ranges.clone(),
        unreadable: copied.unreadable,
    };
    let commits = continuing_commits(files, &copied, &mut adopted);
    if adopted.head == 0 {
        (adopted.first, adopted.head) = (adopted.next(), adopted.next() - 1);
    }
    let anchor = copied.anchor(adopted.epoch, adopted.first);
    EpochFile::create(&staged.files().epoch(), anchor)?;
    let store = SledJournal::open(&staged.files().root, options)?;
    for UnflushedCommit { frame, .. } in commits {
        store.store(&frame.entries)?;
    }
    keep_snapshots(staged, &adopted)?;
    Ok((store, adopted))
}

/// Returns the commits of the log that continue the records in `copied`.
fn continuing_commits(
    files: &Files,
    copied: &CopiedRecords,
    adopted: &mut AdoptedRecords,
) -> Vec<UnflushedCommit> {
    let log = match fs::read(files.wal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Bytes::new(),
        Err(error) => {
            let why = || format!("the file 'wal' cannot be read: {error}");
            adopted.broken.get_or_insert_with(why);
            Bytes::new()
        }
        Ok(bytes) => bytes.into(),
    };
    let mut unflushed = wal::commits_above(copied.head, &log);
    let mut end = (copied.head, copied.chain);
    unflushed.retain(|UnflushedCommit { frame, .. }| {
        adopted.used = adopted.used.max(frame.last());
        let follows = adopted.broken.is_none() && frame.follows(end);
        if follows {
            end = (frame.last(), frame.chain_after);
            adopted.first = adopted.first.max(1);
            adopted.head = frame.last();
        } else {
            adopted.broken.get_or_insert_with(|| wal::GAP_REASON.into());
        }
        follows
    });
    unflushed
}

/// Copies the snapshots under the new identity, except those that are newer than the saved records or end before
/// them.
fn keep_snapshots(staged: &StagedJournal<'_>, adopted: &AdoptedRecords) -> io::Result<()> {
    let dir = staged.files().snapshots();
    // Create the directory even without snapshots, so that it replaces the old one.
    durable::private_dir(&dir)?;
    let snapshots = Snapshots::new(&dir, adopted.epoch);
    for (_, path) in snapshot::list(&staged.replaces().snapshots())?.iter().rev() {
        match snapshot::read(path) {
            Ok(it) if it.seq <= adopted.head && it.seq + 1 >= adopted.first => {
                snapshots.save(it.seq, &it.payload)?;
            }
            _ => {}
        }
    }
    Ok(())
}
