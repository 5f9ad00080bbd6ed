//! Opens a journal of format 1 or 2: its records are in the store, and the newest ones in a write-ahead log. Segments are
//! made from both and checked; then the epoch file names them, and the log is removed. Interrupted before, it begins again.

use std::io;

use bytes::Bytes;
use hub_protocol::Epoch;

use super::frame::{self, Frame};
use super::segments::{SegmentBuilder, Segments};
use super::store::{READ_BYTES, Store};
use crate::journal::sled::{Files, OpenError};
use crate::journal::{JournalError, epoch};

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
    let anchor = store.epoch_file().last();
    let (mut at, to) = (anchor.first, store.end().0);
    let mut built = SegmentBuilder::new(segments, at);
    while at <= to {
        let run = match store.run(at, to, READ_BYTES) {
            Err(JournalError::Corrupt { .. }) => {
                at = store.next_readable(at + 1, to)?.unwrap_or(to + 1);
                continue;
            }
            run => run?,
        };
        let (frame, _) = frame::encode(anchor.epoch, run.chain, &run.entries);
        built.add(run.entries[0].seq, &frame, true)?;
        at = run.last() + 1;
    }
    Ok(built.finish()?)
}

/// Returns the commits that only the log has. Fails if it does not hold the record that the epoch file names.
fn unflushed(store: &dyn Store, files: &Files) -> Result<Vec<Frame>, OpenError> {
    let anchor = store.epoch_file().last();
    // Format 1 has no log, nor has a new journal.
    let mut frames = match read_log(files, Some(anchor.epoch))? {
        None if anchor.format >= epoch::WITH_LOG => return Err(OpenError::NoLog),
        frames => frames.unwrap_or_default(),
    };
    let mut end = store.end();
    frames.retain(|it| it.last() > end.0);
    let (head, synced) = (frames.last().map_or(end.0, Frame::last), anchor.logged);
    if head < synced {
        return Err(OpenError::Behind { head, synced });
    }
    for frame in &frames {
        if !frame.follows(end) {
            let reason = "the file 'wal' does not go on where the journal ends".into();
            let at = end.0 + 1;
            return Err(OpenError::Broken { at, reason });
        }
        end = (frame.last(), frame.chain_after);
    }
    Ok(frames)
}

/// Returns the commits of the journal `epoch` in the write-ahead log, ordered by number; `None` without a log.
pub(super) fn read_log(files: &Files, epoch: Option<Epoch>) -> io::Result<Option<Vec<Frame>>> {
    let bytes = match files.disk.read(&files.wal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => Bytes::from(bytes?),
    };
    let mut frames = frame::find_all(&bytes);
    frames.retain(|it| epoch.is_none_or(|epoch| it.epoch == epoch));
    frames.sort_by_key(Frame::first);
    Ok(Some(frames))
}
