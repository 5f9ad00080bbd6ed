//! Opens a journal of format 1 or 2: its records are in the store, and the newest ones in a write-ahead log. Segments are
//! made from both and checked; then the epoch file names them, and the log is removed. Interrupted before, it begins again.

use std::io;

use bytes::Bytes;
use hub_protocol::Seq;

use super::frame::{self, Frame};
use super::segments::{SegmentBuilder, Segments};
use super::store::{READ_BYTES, Store};
use crate::journal::sled::{Files, OpenError};
use crate::journal::{JournalError, epoch};

/// The error text for a log with commits above the store's head that do not continue it.
pub(super) const GAP_REASON: &str = "the file 'wal' does not go on where the journal ends";

/// Makes the segments of the journal in `store`.
pub(super) fn run(store: &dyn Store, segments: &Segments, files: &Files) -> Result<(), OpenError> {
    let unflushed = unflushed(store, files)?;
    segments.clear()?;
    copy_store(store, segments)?;
    let mut bytes = Vec::new();
    for frame in &unflushed {
        bytes.extend_from_slice(&frame::encode(frame.epoch, frame.chain, &frame.entries).0);
    }
    if let Some(first) = unflushed.first() {
        segments.replace(first.first(), &bytes)?;
    }
    Ok(())
}

/// Removes the write-ahead log of an earlier format.
pub(super) fn remove_log(files: &Files) -> io::Result<()> {
    if files.disk.is_there(&files.wal())? {
        files.disk.remove(&files.wal())?;
        files.disk.sync(&files.root)?;
    }
    Ok(())
}

/// Copies what can be read. Whether the hub may start without the rest is decided as for any loss.
fn copy_store(store: &dyn Store, segments: &Segments) -> Result<(), OpenError> {
    let (mut at, to) = (store.earliest(), store.end().0);
    let mut built = SegmentBuilder::new(segments, at);
    while at <= to {
        let run = match store.run(at, to, READ_BYTES) {
            Err(JournalError::Corrupt { .. }) => {
                at = store.next_readable(at + 1, to)?.unwrap_or(to + 1);
                continue;
            }
            run => run?,
        };
        let (frame, _) = frame::encode(store.anchor().epoch, run.chain, &run.entries);
        built.add(run.entries[0].seq, &frame, true)?;
        at = run.last() + 1;
    }
    Ok(built.finish()?)
}

/// Returns the commits that only the log has. Fails if it does not hold the record that the epoch file names.
fn unflushed(store: &dyn Store, files: &Files) -> Result<Vec<Frame>, OpenError> {
    let anchor = store.anchor();
    let bytes = match files.disk.read(&files.wal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Format 1 has no log, nor has a new journal.
            let has_log = anchor.format >= epoch::WITH_LOG;
            return if has_log {
                Err(OpenError::NoLog)
            } else {
                Ok(Vec::new())
            };
        }
        bytes => Bytes::from(bytes?),
    };
    let mut end = store.end();
    let mut frames = commits_above(end.0, &bytes);
    frames.retain(|it| it.epoch == anchor.epoch);
    let (head, synced) = (frames.last().map_or(end.0, Frame::last), anchor.logged);
    if head < synced {
        return Err(OpenError::Behind { head, synced });
    }
    for frame in &frames {
        if !frame.follows(end) {
            let (at, reason) = (end.0 + 1, GAP_REASON.into());
            return Err(OpenError::Broken { at, reason });
        }
        end = (frame.last(), frame.chain_after);
    }
    Ok(frames)
}

/// Returns the commits in the log's `bytes` whose last entry is above `head`, ordered by number.
pub(super) fn commits_above(head: Seq, bytes: &Bytes) -> Vec<Frame> {
    let found = frame::find_all(bytes).into_iter();
    let mut frames: Vec<Frame> = found.map(|(frame, _)| frame).collect();
    frames.retain(|it| it.last() > head);
    frames.sort_by_key(Frame::first);
    frames
}
