//! The write-ahead log: a preallocated file with two halves that are filled in turn.
//!
//! A half is filled from its start, one [`frame`](super::frame) after another. It is reused only when the store
//! durably contains all of its commits. Therefore any older frame behind the last one is below the store's head.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use hub_protocol::{Epoch, Seq};

use super::frame::{self, Frame};
use crate::core::durable;
use crate::log::journal::JournalError;
use crate::log::journal::sled::{Files, OpenError, io_error, put_aside};

/// The error text for a log with commits above the store's head that do not continue it.
pub(super) const GAP: &str = "the file 'wal' does not go on where the journal ends";

/// The index of a half of the log: 0 or 1.
pub(super) type Half = usize;

/// A position in the log: a half, and the byte offset in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) half: Half,
    offset: u64,
}

/// The open log file.
#[derive(Debug)]
pub(super) struct Wal {
    file: File,
    half_bytes: u64,
    next: Place,
    sync: bool,
}

/// A commit that only the log contains, with the half that contains it and the offset of its end there.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) half: Half,
    pub(super) frame: Frame,
    end: u64,
}

/// Durably creates an empty log of `bytes` bytes. An existing log is renamed, not overwritten.
pub(super) fn create(files: &Files, bytes: u64) -> io::Result<()> {
    put_away(files)?;
    let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
    durable::replace(&files.wal(), &[&vec![0; bytes]])
}

/// Renames an existing log, because it belongs to another journal.
fn put_away(files: &Files) -> io::Result<()> {
    match put_aside(&files.wal()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the commits in the log's `bytes` whose last entry is above `head`, ordered by number.
pub(super) fn above(head: Seq, bytes: &Bytes) -> Vec<Left> {
    let middle = bytes.len() / 2;
    let halves = [bytes.slice(..middle), bytes.slice(middle..)];
    let mut left = Vec::new();
    for (half, bytes) in halves.iter().enumerate() {
        let frames = frame::find_all(bytes).into_iter();
        let newer = frames.filter(|(frame, _)| frame.last() > head);
        left.extend(newer.map(|(frame, end)| Left {
            half,
            frame,
            end: end as u64,
        }));
    }
    left.sort_by_key(|left| left.frame.first());
    left
}

/// Opens the log for writing and returns the commits that the store does not contain. `end` is the store's last entry
/// and the chain there. Fails if the log contains neither the record `logged` nor a later one.
pub(super) fn open(
    files: &Files,
    epoch: Epoch,
    end: (Seq, u32),
    logged: Seq,
    wanted: u64,
    sync: bool,
) -> Result<(Wal, Vec<Left>), OpenError> {
    let bytes = match fs::read(files.wal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(OpenError::NoLog),
        bytes => Bytes::from(bytes?),
    };
    if bytes.len() as u64 != wanted {
        let reason = format!("the file 'wal' has {} bytes, not {wanted}", bytes.len());
        let at = end.0 + 1;
        return Err(OpenError::Broken { at, reason });
    }
    let mut left = above(end.0.min(logged.saturating_sub(1)), &bytes);
    left.retain(|left| left.frame.epoch == epoch);
    if left.iter().all(|left| left.frame.last() < logged) && logged > 0 {
        return Err(OpenError::OldLog { logged });
    }
    left.retain(|left| left.frame.last() > end.0);
    check(&left, end)?;
    if !left.is_empty() {
        // After a failed sync, the page cache may differ from the disk. So the log is written again, to a new file.
        durable::replace(&files.wal(), &[&bytes])?;
    }
    let next = left
        .last()
        .map_or(Place { half: 0, offset: 0 }, |last| Place {
            half: last.half,
            offset: last.end,
        });
    let wal = Wal {
        file: durable::open_in_place(&files.wal())?,
        half_bytes: wanted / 2,
        next,
        sync,
    };
    Ok((wal, left))
}

/// Checks that `left` continues the store without a gap.
fn check(left: &[Left], mut end: (Seq, u32)) -> Result<(), OpenError> {
    for Left { frame, .. } in left {
        if !frame.follows(end) {
            let (at, reason) = (end.0 + 1, GAP.into());
            return Err(OpenError::Broken { at, reason });
        }
        end = (frame.last(), frame.chain_after);
    }
    Ok(())
}

impl Wal {
    /// Returns the position for a frame of `length` bytes, and whether it starts a half again; `None` if the frame is
    /// larger than a half.
    pub(super) fn place(&self, length: usize) -> Option<(Place, bool)> {
        let length = length as u64;
        if length > self.half_bytes {
            return None;
        }
        if self.next.offset + length <= self.half_bytes {
            return Some((self.next, false));
        }
        let half = 1 - self.next.half;
        Some((Place { half, offset: 0 }, true))
    }

    /// Writes `frame` durably at `place`. After [`JournalError::Full`] no part of the frame is left; after any other
    /// error the frame may be on the disk.
    pub(super) fn write(&mut self, place: Place, frame: &[u8]) -> Result<(), JournalError> {
        let offset = place.half as u64 * self.half_bytes + place.offset;
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
        self.next = Place {
            offset: place.offset + frame.len() as u64,
            ..place
        };
        Ok(())
    }
}
