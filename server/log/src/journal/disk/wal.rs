//! The write-ahead log: a file with two halves that are filled in turn.
//!
//! The file is allocated in full from the beginning, so that a sync writes only data. A half is filled from its start,
//! one [`frame`](super::frame) after another. It is reused only when the store durably contains all of its commits.
//! Therefore any older frame behind the last one is below the store's head. A frame that did not fit is removed,
//! durably, before its commit is refused.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use hub_core::durable;
use hub_protocol::Seq;

use super::frame::{self, Frame};
use crate::journal::sled::{
    Files, OpenError, OpenedFile, Options, SledJournal, io_error, rename_aside,
};
use crate::journal::{Journal, JournalError};

/// The error text for a log with commits above the store's head that do not continue it.
pub(super) const GAP_REASON: &str = "the file 'wal' does not go on where the journal ends";

/// The size of the hub's log at the time when the epoch file did not name it yet.
const FIRST_BYTES: u64 = 4 << 20;

/// The index of a half of the log: 0 or 1.
pub(super) type Half = usize;

/// A position in the log: a half, and the byte offset in it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WalPosition {
    pub(super) half: Half,
    offset: u64,
}

/// The open log file.
#[derive(Debug)]
pub(super) struct Wal {
    file: File,
    place: OpenedFile,
    half_bytes: u64,
    next: WalPosition,
    sync: bool,
}

/// A commit that only the log contains, and the position of its end.
#[derive(Debug)]
pub(super) struct UnflushedCommit {
    pub(super) frame: Frame,
    pub(super) end: WalPosition,
}

/// Durably creates an empty log of `bytes` bytes. An existing log is renamed, because it belongs to another journal.
pub(super) fn create(files: &Files, bytes: u64) -> io::Result<()> {
    match rename_aside(&files.wal()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
    durable::replace(&files.wal(), &[&vec![0; bytes]])
}

/// Returns the commits in the log's `bytes` whose last entry is above `head`, ordered by number.
pub(super) fn commits_above(head: Seq, bytes: &Bytes) -> Vec<UnflushedCommit> {
    let middle = bytes.len() / 2;
    let halves = [bytes.slice(..middle), bytes.slice(middle..)];
    let mut unflushed = Vec::new();
    for (half, bytes) in halves.iter().enumerate() {
        let frames = frame::find_all(bytes).into_iter();
        let newer = frames.filter(|(frame, _)| frame.last() > head);
        unflushed.extend(newer.map(|(frame, end)| {
            let offset = end as u64;
            let end = WalPosition { half, offset };
            UnflushedCommit { frame, end }
        }));
    }
    unflushed.sort_by_key(|it| it.frame.first());
    unflushed
}

/// Opens the log for writing and returns the commits that `store` does not contain. Fails if the log contains neither
/// the record that the epoch file names nor a later one.
pub(super) fn open(
    files: &Files,
    store: &SledJournal,
    options: Options,
) -> Result<(Wal, Vec<UnflushedCommit>), OpenError> {
    let bytes = match fs::read(files.wal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(OpenError::NoLog),
        bytes => Bytes::from(bytes?),
    };
    let (end, logged, found) = (store.end(), store.logged(), bytes.len() as u64);
    let sizes = match store.log_bytes() {
        Some(named) => [named; 2],
        None => [options.log_bytes, FIRST_BYTES],
    };
    if !sizes.contains(&found) {
        let expected = sizes[0];
        let reason = format!("the file 'wal' has {found} bytes, not {expected}");
        let at = end.0 + 1;
        return Err(OpenError::Broken { at, reason });
    }
    let mut unflushed = commits_above(end.0.min(logged.saturating_sub(1)), &bytes);
    unflushed.retain(|it| it.frame.epoch == store.epoch());
    if unflushed.iter().all(|it| it.frame.last() < logged) && logged > 0 {
        return Err(OpenError::OldLog { logged });
    }
    unflushed.retain(|it| it.frame.last() > end.0);
    check_continues(&unflushed, end)?;
    if !unflushed.is_empty() {
        // After a failed sync, the page cache may differ from the disk. So the log is written again, to a new file.
        durable::replace(&files.wal(), &[&bytes])?;
    }
    let wal = Wal {
        file: durable::open_in_place(&files.wal())?,
        place: OpenedFile::at(files.wal())?,
        half_bytes: found / 2,
        next: unflushed.last().map(|last| last.end).unwrap_or_default(),
        sync: options.checks.log_sync,
    };
    Ok((wal, unflushed))
}

/// Checks that the commits continue the store without a gap.
fn check_continues(unflushed: &[UnflushedCommit], mut end: (Seq, u32)) -> Result<(), OpenError> {
    for UnflushedCommit { frame, .. } in unflushed {
        if !frame.follows(end) {
            let (at, reason) = (end.0 + 1, GAP_REASON.into());
            return Err(OpenError::Broken { at, reason });
        }
        end = (frame.last(), frame.chain_after);
    }
    Ok(())
}

impl Wal {
    /// Returns the size of the log in bytes.
    pub(super) fn bytes(&self) -> u64 {
        2 * self.half_bytes
    }

    /// Returns the log's place in the state directory.
    pub(super) fn place(&self) -> &OpenedFile {
        &self.place
    }

    /// Returns the position for a frame of `length` bytes, and whether it starts a half again; `None` if the frame is
    /// larger than a half.
    pub(super) fn position_for(&self, length: usize) -> Option<(WalPosition, bool)> {
        let length = length as u64;
        if length > self.half_bytes {
            return None;
        }
        if self.next.offset + length <= self.half_bytes {
            return Some((self.next, false));
        }
        let half = 1 - self.next.half;
        Some((WalPosition { half, offset: 0 }, true))
    }

    /// Writes `frame` durably at `position`. After [`JournalError::Full`] no part of the frame is left; after any other
    /// error the frame may be on the disk.
    pub(super) fn write(
        &mut self,
        position: WalPosition,
        frame: &[u8],
    ) -> Result<(), JournalError> {
        let offset = position.half as u64 * self.half_bytes + position.offset;
        if let Err(error) = self.file.write_all_at(frame, offset) {
            let error = io_error(error);
            if matches!(error, JournalError::Full) {
                // An earlier frame may have left the same end here. Clear the magic, so that both parts never form a
                // frame.
                self.file.write_all_at(&[0; frame::MAGIC.len()], offset)?;
                self.file.sync_data()?;
            }
            return Err(error);
        }
        if self.sync {
            // A failed sync is never reported as a full disk: the frame is in the page cache and may be on the disk.
            self.file.sync_data()?;
        }
        self.next = WalPosition {
            offset: position.offset + frame.len() as u64,
            ..position
        };
        Ok(())
    }
}
