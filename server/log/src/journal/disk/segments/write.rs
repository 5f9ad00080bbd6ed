//! The segment that is written, and the file that becomes the next one.

use std::io;

use hub_core::disk::DiskFile;
use hub_core::sync;
use hub_protocol::Seq;

use super::scan::read_around;
use super::{End, INDEXED, Segments};
use crate::journal::JournalError;
use crate::journal::disk::frame;
use crate::journal::sled::{OpenedFile, io_error};

/// The file that becomes the next segment.
pub(super) const NEXT: &str = "next";
/// The unit of a segment that is made on a full disk.
const SMALLEST: u64 = 64 * 1024;
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// The file that becomes the next segment.
#[derive(Debug)]
pub(super) struct Prepared {
    file: Box<dyn DiskFile>,
    size: u64,
}

/// The segment that is written.
#[derive(Debug)]
pub(in crate::journal::disk) struct Active {
    first: Seq,
    file: Box<dyn DiskFile>,
    place: OpenedFile,
    offset: u64,
    size: u64,
    /// The offset of the last place in the index.
    indexed: u64,
}

impl Active {
    /// Whether less than half of its room is left.
    pub(in crate::journal::disk) fn is_half_full(&self) -> bool {
        self.offset > self.size / 2
    }

    /// Fails if the file is no longer in the state directory.
    pub(in crate::journal::disk) fn check_place(&self) -> io::Result<()> {
        self.place.check()
    }
}

impl Segments {
    /// Opens the segment of `end` to go on there. With `anew`, it is written again to a new file: after a failed sync, the
    /// page cache may differ from the disk.
    pub(in crate::journal::disk) fn resume(&self, end: &End, anew: bool) -> io::Result<Active> {
        // A later segment without any frame: its first commit was never acknowledged.
        let later = sync::write(&self.known).split_off(&(end.first + 1));
        for first in later.into_keys() {
            self.disk.remove(&self.path(first))?;
        }
        let path = self.path(end.first);
        if anew {
            let size = usize::try_from(end.size).map_err(io::Error::other)?;
            let (bytes, _) = read_around(&*self.disk, &path, 0, size)?;
            self.disk.replace(&path, &[&bytes])?;
        } else {
            self.disk.sync(&path)?;
        }
        self.activate(end.first, end.offset, end.size)
    }

    fn activate(&self, first: Seq, offset: u64, size: u64) -> io::Result<Active> {
        let path = self.path(first);
        Ok(Active {
            first,
            file: self.disk.open_in_place(&path)?,
            place: OpenedFile::at(&self.disk, path)?,
            offset,
            size,
            indexed: 0,
        })
    }

    /// Appends `frame`, whose first record is `first`, durably. After [`JournalError::Full`] no part of it is left; after any
    /// other error it may be on the disk.
    pub(in crate::journal::disk) fn append(
        &self,
        active: &mut Option<Active>,
        first: Seq,
        frame: &[u8],
    ) -> Result<(), JournalError> {
        let length = frame.len() as u64;
        if length > self.size {
            // A segment of its own.
            self.replace(first, frame).map_err(io_error)?;
            *active = Some(self.activate(first, length, length)?);
            return Ok(());
        }
        let has_room = |it: &Active| it.offset + length <= it.size;
        if !active.as_ref().is_some_and(has_room) {
            *active = Some(self.begin(first, length)?);
        }
        let active = active.as_mut().expect("a segment was begun");
        self.write(active, first, frame)
    }

    fn write(&self, active: &mut Active, first: Seq, frame: &[u8]) -> Result<(), JournalError> {
        if let Err(error) = active.file.write_all_at(frame, active.offset) {
            let error = io_error(error);
            if matches!(error, JournalError::Full) {
                // The rest of the file is zeros, and so may be the rest of the frame: clear the magic, so that they never
                // form a frame.
                let cleared = [0; frame::MAGIC.len()];
                active.file.write_all_at(&cleared, active.offset)?;
                active.file.sync_data()?;
            }
            return Err(error);
        }
        if self.synced {
            // A failed sync is never reported as a full disk: the frame is in the page cache and may be on the disk.
            active.file.sync_data()?;
        }
        if active.indexed + INDEXED <= active.offset {
            self.note(active.first, first, active.offset);
            active.indexed = active.offset;
        }
        active.offset += frame.len() as u64;
        Ok(())
    }

    /// Begins the segment whose first record is `first`, with room for at least `length` bytes.
    fn begin(&self, first: Seq, length: u64) -> Result<Active, JournalError> {
        // Held to the end, because the copier would make the same file.
        let mut prepared = sync::lock(&self.prepared);
        let large = prepared.take().filter(|it| it.size >= length);
        let Prepared { file, size } = match large {
            Some(prepared) => prepared,
            None => self.allocate(length)?,
        };
        let path = self.path(first);
        self.disk.rename(&self.dir.join(NEXT), &path)?;
        self.names.sync_all()?;
        sync::write(&self.known).insert(first, vec![(first, 0)]);
        Ok(Active {
            first,
            file,
            place: OpenedFile::at(&self.disk, path)?,
            offset: 0,
            size,
            indexed: 0,
        })
    }

    /// Makes the file that becomes the next segment; a smaller one if the disk is full.
    fn allocate(&self, length: u64) -> Result<Prepared, JournalError> {
        let smaller = length.next_multiple_of(SMALLEST).min(self.size);
        if !self.has_room() {
            return self.fill(smaller);
        }
        match self.fill(self.size) {
            Err(JournalError::Full) => self.fill(smaller),
            filled => filled,
        }
    }

    /// Whether the disk has room for a whole segment. As much stays free, because what fills the disk takes the room of what
    /// must be written.
    fn has_room(&self) -> bool {
        self.disk.free(&self.dir) >= 2 * self.size
    }

    fn fill(&self, size: u64) -> Result<Prepared, JournalError> {
        let path = self.dir.join(NEXT);
        let filled = self.disk.create(&path).and_then(|file| {
            let mut at = 0;
            while at < size {
                let length = usize::try_from(size - at).unwrap_or(ZEROS.len());
                let zeros = &ZEROS[..length.min(ZEROS.len())];
                file.write_all_at(zeros, at)?;
                at += zeros.len() as u64;
            }
            file.sync_all()?;
            Ok(Prepared { file, size })
        });
        filled.map_err(|error| {
            // A leftover file would occupy space, and the disk may be full.
            let _ = self.disk.remove(&path);
            io_error(error)
        })
    }

    /// Makes the file that becomes the next segment, if there is none and the disk has room.
    pub(in crate::journal::disk) fn prepare(&self) -> Result<(), JournalError> {
        let mut prepared = sync::lock(&self.prepared);
        if prepared.is_none() && self.has_room() {
            *prepared = Some(self.fill(self.size)?);
        }
        Ok(())
    }
}
