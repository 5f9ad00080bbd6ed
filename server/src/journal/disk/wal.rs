//! The write-ahead log: a file whose room is there from the beginning, in two halves that are filled in turn.
//!
//! A half is written from its start, one [`frame`](super::frame) after another, and begun anew only when the store holds
//! all of it durably. What an earlier turn left behind the last frame is therefore always older than the store's head.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use hub_protocol::{Epoch, Seq};

use super::frame::{self, Frame};
use crate::journal::sled::{Files, OpenError, io_error, put_aside};
use crate::journal::{JournalError, durable};

/// What is wrong with a log that holds newer commits, but not the next one.
pub(super) const GAP: &str = "the file 'wal' does not go on where the journal ends";

/// One of the two halves.
pub(super) type Half = usize;

/// A place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) half: Half,
    offset: u64,
}

/// The open file.
#[derive(Debug)]
pub(super) struct Wal {
    file: File,
    half_bytes: u64,
    next: Place,
    sync: bool,
}

/// A commit that only the log holds, and the half in which it lies.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) half: Half,
    pub(super) frame: Frame,
    end: u64,
}

/// Makes an empty log of `bytes`, durably. One that is there is put away.
pub(super) fn create(files: &Files, bytes: u64) -> io::Result<()> {
    put_away(files)?;
    let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
    durable::replace(&files.wal(), &[&vec![0; bytes]])
}

/// Renames the log that is there, if there is one: it belongs to another journal.
fn put_away(files: &Files) -> io::Result<()> {
    match put_aside(&files.wal()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The commits above `head` that the log's `bytes` hold, by number.
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

/// Reads what the log holds behind the store's `end`, its last entry and the chain there, and opens it to go on.
pub(super) fn open(
    files: &Files,
    epoch: Epoch,
    end: (Seq, u32),
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
    let mut left = above(end.0, &bytes);
    left.retain(|left| left.frame.epoch == epoch);
    check(&left, end)?;
    if !left.is_empty() {
        // After a failed sync the page cache may show what is not on the disk: it is written again, elsewhere.
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

/// Whether `left` goes on where the store ends.
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
    /// Where a frame of `length` bytes goes, and whether a half begins there anew; `None` when no half holds as much.
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

    /// Writes `frame` to its place, durably. Where the disk is full nothing is left of it; after any other error it may
    /// be there.
    pub(super) fn write(&mut self, place: Place, frame: &[u8]) -> Result<(), JournalError> {
        let offset = place.half as u64 * self.half_bytes + place.offset;
        if let Err(error) = self.file.write_all_at(frame, offset) {
            let error = io_error(error);
            if matches!(error, JournalError::Full) {
                // The place may hold the same end from an earlier turn: with it the beginning would be the frame.
                self.file.write_all_at(&[0; frame::MAGIC.len()], offset)?;
                self.file.sync_data()?;
            }
            return Err(error);
        }
        if self.sync {
            // Never a full disk: the frame is in the page cache, and may be on the disk.
            self.file.sync_data()?;
        }
        self.next = Place {
            offset: place.offset + frame.len() as u64,
            ..place
        };
        Ok(())
    }
}
