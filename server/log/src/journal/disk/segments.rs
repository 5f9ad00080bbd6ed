//! The segments: files of [`frame`](super::frame)s in `STATE/segments`, each with the number of its first record as its name.
//!
//! A file is allocated in full before its first commit, so that a sync writes only data. Its frames are in the order of
//! their numbers; behind the last one are zeros, or the rest of a commit that was never acknowledged. A frame that did not
//! fit is removed, durably, before its commit is refused. A file stays until retention drops its last record.
//!
//! A missing or damaged frame shows by the numbers and the chain of those around it. If numbers were skipped, the chain
//! goes on; where it does not, records are missing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};

use hub_core::disk::{Disk, DiskFile};
use hub_core::sync;
use hub_protocol::{Epoch, Seq};

use super::frame::Frame;
use super::store::Run;
use crate::journal::JournalError;
use crate::journal::sled::Files;
use scan::Scan;

mod build;
mod scan;
mod write;

pub(super) use build::SegmentBuilder;
pub(super) use write::Active;
use write::{NEXT, Prepared};

/// Bytes between two places in the index of a segment.
const INDEXED: u64 = 64 * 1024;

/// The segments of one journal.
#[derive(Debug)]
pub(super) struct Segments {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// The identity of the journal; `None` accepts any.
    epoch: Option<Epoch>,
    /// Bytes of a new segment.
    size: u64,
    /// Whether commits are synced.
    synced: bool,
    /// Each segment by its first number, with the places of some of its records: number and offset, ascending.
    known: RwLock<BTreeMap<Seq, Vec<(Seq, u64)>>>,
    /// The file that becomes the next segment.
    prepared: Mutex<Option<Prepared>>,
    /// The directory, held open, because a process may be out of descriptors when a segment begins.
    names: Box<dyn DiskFile>,
}

/// The last frame of all segments.
pub(super) struct End {
    /// The segment's first number.
    first: Seq,
    /// The number of the last record.
    pub(super) head: Seq,
    /// The chain after it.
    pub(super) chain: u32,
    /// The offset behind the frame.
    offset: u64,
    /// Bytes of the file.
    size: u64,
}

impl Segments {
    /// Finds the segments of the journal `epoch`. New ones have `size` bytes.
    pub(super) fn open(
        files: &Files,
        epoch: Option<Epoch>,
        size: u64,
        synced: bool,
    ) -> io::Result<Self> {
        let dir = files.segments();
        files.disk.private_dir(&dir)?;
        let mut known = BTreeMap::new();
        for path in files.disk.list(&dir)? {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let unfinished = name.strip_suffix(".tmp").and_then(first_of);
            if let Some(first) = first_of(name) {
                known.insert(first, vec![(first, 0)]);
            } else if name == NEXT || unfinished.is_some() {
                files.disk.remove(&path)?;
            }
        }
        // Names that a killed process made may be in memory only.
        let names = files.disk.open_dir(&dir)?;
        names.sync_all()?;
        files.disk.sync(&files.root)?;
        Ok(Self {
            disk: Arc::clone(&files.disk),
            dir,
            epoch,
            size,
            synced,
            known: RwLock::new(known),
            prepared: Mutex::new(None),
            names,
        })
    }

    pub(super) fn path(&self, first: Seq) -> PathBuf {
        self.dir.join(name_of(first))
    }

    fn scan(&self, first: Seq, offset: u64) -> Scan<'_> {
        Scan::new(&*self.disk, self.path(first), self.epoch, offset)
    }

    /// Returns the first number of the segment in which `seq` is, or would be; `None` if it is before all segments.
    pub(super) fn segment_of(&self, seq: Seq) -> Option<Seq> {
        let known = sync::read(&self.known);
        known.range(..=seq).next_back().map(|(first, _)| *first)
    }

    /// Returns the first number of the segment after the one of `seq`.
    pub(super) fn segment_after(&self, seq: Seq) -> Option<Seq> {
        let known = sync::read(&self.known);
        known.range(seq + 1..).next().map(|(first, _)| *first)
    }

    /// Returns the segment in which the record `seq` is, or would be, and the offset of a frame before it. For a record before
    /// all segments, it is the first segment.
    fn place_of(&self, seq: Seq) -> Option<(Seq, u64)> {
        let known = sync::read(&self.known);
        let around = known.range(..=seq).next_back();
        let (first, places) = around.or_else(|| known.iter().next())?;
        let at = places.partition_point(|(it, _)| *it <= seq).max(1) - 1;
        Some((*first, places[at].1))
    }

    /// Notes where the record `seq` is, if that is far enough from the last noted one.
    fn note(&self, first: Seq, seq: Seq, offset: u64) {
        let is_far = |places: &[(Seq, u64)]| {
            { places.last() }.is_some_and(|(last, at)| *last < seq && at + INDEXED <= offset)
        };
        let known = sync::read(&self.known);
        if !known.get(&first).is_some_and(|it| is_far(it)) {
            return;
        }
        drop(known);
        if let Some(places) = sync::write(&self.known).get_mut(&first)
            && is_far(places)
        {
            places.push((seq, offset));
        }
    }

    /// Calls `see` with the valid frames from that of the record `from` on, until it returns `false`. Returns why a part of the
    /// files could not be read.
    fn frames_from(
        &self,
        from: Seq,
        mut see: impl FnMut(Frame) -> bool,
    ) -> io::Result<Option<io::Error>> {
        let Some((mut first, mut offset)) = self.place_of(from) else {
            return Ok(None);
        };
        let mut failure = None;
        loop {
            let mut scan = self.scan(first, offset);
            let mut is_over = false;
            while let Some((frame, at)) = next_of(&mut scan)? {
                self.note(first, frame.first(), at);
                is_over = !see(frame);
                if is_over {
                    break;
                }
            }
            failure = failure.or(scan.failure());
            match self.segment_after(first) {
                Some(next) if !is_over => (first, offset) = (next, 0),
                _ => return Ok(failure),
            }
        }
    }

    /// Returns the records from `from` to `to`, up to about `max_bytes` but at least one. If numbers were skipped, the first
    /// record has a later number. Fails with [`JournalError::Corrupt`] if the record `from` is missing.
    pub(super) fn run(&self, from: Seq, to: Seq, max_bytes: usize) -> Result<Run, JournalError> {
        let (mut before, mut run, mut size) = (None, None::<Run>, 0);
        let failure = self.frames_from(from, |frame| {
            let is_next = before.is_some_and(|(_, chain)| chain == frame.chain);
            let continues = match &run {
                Some(_) => before.is_some_and(|end| frame.follows(end)),
                None => frame.first() <= from || is_next,
            };
            before = Some((frame.last(), frame.chain_after));
            if frame.last() < from {
                return true;
            }
            if !continues {
                return false;
            }
            let start = frame.first().max(from);
            let chain = frame.chain_at(start - 1).unwrap_or(frame.chain);
            let run = run.get_or_insert_with(|| Run::empty(chain));
            for entry in frame.entries.into_iter().filter(|it| it.seq >= start) {
                size += entry.payload.len();
                if entry.seq > to || (size > max_bytes && !run.entries.is_empty()) {
                    return false;
                }
                run.entries.push(entry);
            }
            before.is_some_and(|(last, _)| last < to) && size < max_bytes
        })?;
        let run = run.filter(|run| !run.entries.is_empty());
        run.ok_or_else(|| failure.map_or_else(|| missing(from), JournalError::from))
    }

    /// Returns the first record at or after `from` that can be read; `None` if there is none.
    pub(super) fn next_readable(&self, from: Seq) -> Result<Option<Seq>, JournalError> {
        let mut found = None;
        self.frames_from(from, |frame| {
            found = (frame.last() >= from).then(|| frame.first().max(from));
            found.is_none()
        })?;
        Ok(found)
    }

    /// Finds the last valid frame; `None` if there is none. Fails if nothing of the last segment can be read: its commits may be
    /// nowhere else.
    pub(super) fn end(&self) -> io::Result<Option<End>> {
        let firsts: Vec<Seq> = sync::read(&self.known).keys().rev().copied().collect();
        for first in firsts {
            let (end, failure) = self.end_of(first)?;
            match failure {
                _ if end.is_some() => return Ok(end),
                Some(error) => return Err(error),
                None => {}
            }
        }
        Ok(None)
    }

    /// Finds the last valid frame of the segment `first`, and why a part of the file could not be read.
    pub(super) fn end_of(&self, first: Seq) -> io::Result<(Option<End>, Option<io::Error>)> {
        let (mut scan, mut end) = (self.scan(first, 0), None);
        while let Some((frame, at)) = next_of(&mut scan)? {
            self.note(first, frame.first(), at);
            end = Some((frame.last(), frame.chain_after, scan.offset()));
        }
        let size = scan.offset();
        let end = end.map(|(head, chain, offset)| End {
            first,
            head,
            chain,
            offset,
            size,
        });
        Ok((end, scan.failure()))
    }

    /// Writes the segment `first` anew.
    pub(super) fn replace(&self, first: Seq, frames: &[u8]) -> io::Result<()> {
        self.disk.replace(&self.path(first), &[frames])?;
        sync::write(&self.known).insert(first, vec![(first, 0)]);
        Ok(())
    }

    /// Removes the segments that have only records below `below`.
    pub(super) fn drop_below(&self, below: Seq) -> io::Result<()> {
        loop {
            let mut known = sync::write(&self.known);
            let mut firsts = known.keys().copied();
            let (Some(first), Some(next)) = (firsts.next(), firsts.next()) else {
                return Ok(());
            };
            if next > below {
                return Ok(());
            }
            known.remove(&first);
            drop(known);
            self.disk.remove(&self.path(first))?;
        }
    }

    /// Removes all segments: those of a migration that was interrupted.
    pub(super) fn clear(&self) -> io::Result<()> {
        while let Some((first, _)) = sync::write(&self.known).pop_first() {
            self.disk.remove(&self.path(first))?;
        }
        self.disk.sync(&self.dir)
    }
}

/// Returns the name of the segment whose first record is `first`.
fn name_of(first: Seq) -> String {
    format!("{first:020}")
}

/// Returns the first record of the segment with this name; `None` for any other file.
fn first_of(name: &str) -> Option<Seq> {
    let first = name.parse().ok()?;
    (name_of(first) == name).then_some(first)
}

/// Returns the next frame of a segment; a segment that was removed has none.
fn next_of(scan: &mut Scan<'_>) -> io::Result<Option<(Frame, u64)>> {
    match scan.next() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found,
    }
}

/// The error of a record that is not in any segment.
pub(super) fn missing(at: Seq) -> JournalError {
    let reason = "a commit is missing in the segments".into();
    JournalError::Corrupt { at, reason }
}
