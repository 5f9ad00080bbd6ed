//! Reads the frames of a segment one after another. Bytes that are no frame are stepped over: whether one is missing there
//! follows from the numbers and the chain of those around it.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hub_core::disk::Disk;
use hub_protocol::Epoch;
use memchr::memmem;

use crate::journal::disk::frame::{self, Frame, HEADER, MAGIC};

/// Bytes that one call reads.
const CHUNK: usize = 128 * 1024;

/// The unit in which a disk fails.
const SECTOR: usize = 4096;

/// A scan of one segment.
pub(super) struct Scan<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
    epoch: Option<Epoch>,
    /// The offset of the first byte in the buffer.
    at: u64,
    buffer: Bytes,
    /// Why a part of the file could not be read.
    failure: Option<io::Error>,
}

impl<'a> Scan<'a> {
    /// Begins at `at` in the file `path`, with the frames of the journal `epoch`.
    pub(super) fn new(disk: &'a dyn Disk, path: PathBuf, epoch: Option<Epoch>, at: u64) -> Self {
        Self {
            disk,
            path,
            epoch,
            at,
            buffer: Bytes::new(),
            failure: None,
        }
    }

    /// Returns the offset of the next byte; after the last frame, the length of the file.
    pub(super) fn offset(&self) -> u64 {
        self.at
    }

    /// Returns the next valid frame and its offset; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<(Frame, u64)>> {
        loop {
            while self.buffer.len() < HEADER {
                if !self.fill(CHUNK)? {
                    self.skip(self.buffer.len());
                    return Ok(None);
                }
            }
            let Some(length) = frame::length(&self.buffer) else {
                self.skip_to_magic();
                continue;
            };
            while self.buffer.len() < length {
                if !self.fill(CHUNK.max(length - self.buffer.len()))? {
                    break;
                }
            }
            match frame::decode(&self.buffer) {
                Some((frame, length)) if self.epoch.is_none_or(|it| it == frame.epoch) => {
                    let offset = self.at;
                    self.skip(length);
                    return Ok(Some((frame, offset)));
                }
                _ => self.skip(1),
            }
        }
    }

    /// Skips to the next bytes that may begin a frame.
    fn skip_to_magic(&mut self) {
        let found = memmem::find(&self.buffer, &MAGIC);
        self.skip(found.unwrap_or(self.buffer.len() - (MAGIC.len() - 1)));
    }

    fn skip(&mut self, bytes: usize) {
        self.at += bytes as u64;
        self.buffer = self.buffer.slice(bytes..);
    }

    /// Returns why a part of the file could not be read, so that a frame may be there.
    pub(super) fn failure(self) -> Option<io::Error> {
        self.failure
    }

    /// Reads more bytes. Returns `false` at the end of the file.
    fn fill(&mut self, bytes: usize) -> io::Result<bool> {
        let end = self.at + self.buffer.len() as u64;
        let (more, failure) = read_around(self.disk, &self.path, end, bytes)?;
        self.failure = failure.or(self.failure.take());
        if more.is_empty() {
            return Ok(false);
        }
        self.buffer = if self.buffer.is_empty() {
            more.into()
        } else {
            [&self.buffer[..], &more].concat().into()
        };
        Ok(true)
    }
}

/// Reads up to `bytes` bytes of a file, fewer only at its end, with zeros for the sectors that cannot be read. Returns why
/// one could not be read.
pub(super) fn read_around(
    disk: &dyn Disk,
    path: &Path,
    from: u64,
    bytes: usize,
) -> io::Result<(Vec<u8>, Option<io::Error>)> {
    let failure = match disk.read_at(path, from, bytes) {
        Err(error) if is_bad_sector(&error) => error,
        found => return Ok((found?, None)),
    };
    let rest = disk.size(path)?.saturating_sub(from);
    let bytes = usize::try_from(rest).map_or(bytes, |rest| rest.min(bytes));
    let mut found = Vec::with_capacity(bytes);
    while found.len() < bytes {
        let at = from + found.len() as u64;
        let length = SECTOR.min(bytes - found.len());
        match disk.read_at(path, at, length) {
            Err(error) if is_bad_sector(&error) => found.resize(found.len() + length, 0),
            piece => {
                let piece = piece?;
                if piece.is_empty() {
                    break;
                }
                found.extend(piece);
            }
        }
    }
    Ok((found, Some(failure)))
}

fn is_bad_sector(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}
