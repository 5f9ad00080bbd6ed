//! Giving what a journal still holds a new identity.

use std::fs;
use std::io;
use std::path::Path;

use bytes::Bytes;

use super::wal::{self, Left};
use crate::journal::sled::{self, Files, OpenError, Options, Rescued, SledJournal};

/// Gives the journal in `dir` a new identity and keeps what can be verified, see [`sled::adopt`]. What only the
/// write-ahead log held is in the store then.
pub fn adopt(dir: &Path, options: Options) -> Result<(SledJournal, Rescued), OpenError> {
    let files = Files::new(dir);
    let mut rescued = sled::adopt(&files, options.fences)?;
    let store = SledJournal::open(dir, options)?;
    let log = match fs::read(files.wal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Bytes::new(),
        Err(error) => {
            let why = || format!("the file 'wal' cannot be read: {error}");
            rescued.broken.get_or_insert_with(why);
            Bytes::new()
        }
        Ok(bytes) => bytes.into(),
    };
    for Left { frame, .. } in wal::above(rescued.head, &log) {
        rescued.used = rescued.used.max(frame.last());
        if rescued.broken.is_none() && frame.follows(store.end()) {
            store.store(&frame.entries)?;
            rescued.head = frame.last();
        } else {
            rescued.broken.get_or_insert_with(|| wal::GAP.into());
        }
    }
    wal::put_away(&files)?;
    Ok((store, rescued))
}
