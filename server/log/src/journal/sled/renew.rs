//! An empty store in place of a damaged or oversized one: the segments have all of its records, and the copier fills it.
//!
//! The old one is kept as `journal.damaged` until the new one has all records. A start in between goes on.

use std::fs;
use std::io;
use std::sync::atomic::Ordering;

use hub_core::{durable, sync};

use super::append::reopen;
use super::place::OpenedFile;
use super::staging::{is_there, remove_all, remove_file};
use super::store::{self, BlockStore};
use super::{Files, SledStore, disk_space};
use crate::journal::JournalError;
use crate::journal::block::Tail;
use crate::journal::epoch::Anchor;

/// A file below this size in bytes is not made anew because of its size.
const SMALL: u64 = 64 << 20;
/// sled's file is at most as many times larger than its records while it is filled.
const ROOM: u64 = 4;

impl SledStore {
    /// Moves the store away, and opens an empty one.
    pub(super) fn make_anew(&self) -> Result<(), JournalError> {
        let mut writer = self.writer();
        self.refuse_after_fault()?;
        let mut slot = sync::write(&self.store);
        // A check of the place must not find that its file is gone.
        let was_there = sync::lock(&self.place).take().is_some();
        // Its last sync does not matter any more.
        let _ = BlockStore::close(slot.take());
        let anchor = self.epoch_file.last();
        writer.tail = Tail {
            head: anchor.first - 1,
            chain: anchor.first_chain,
            ..Tail::default()
        };
        self.head.store(writer.tail.head, Ordering::Release);
        self.move_away(was_there).map_err(store::io_error)?;
        durable::private_dir(&self.files.journal()).map_err(store::io_error)?;
        let store = reopen(&self.files, self.options.checks)?;
        durable::sync_dir(&self.files.root)?;
        remove_file(&self.files.suspect())?;
        let place = OpenedFile::at(&self.files.disk, self.files.db())?;
        *sync::lock(&self.place) = Some(place);
        *slot = Some(store);
        *sync::lock(&self.damage) = None;
        self.is_too_large.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Moves the old store away, or removes it if there is no room for two.
    fn move_away(&self, was_there: bool) -> io::Result<()> {
        let files = &self.files;
        if !is_there(&files.journal())? {
            return Ok(());
        }
        if !was_there && is_there(&files.damaged())? {
            // A failed attempt has left it: the old store is away already.
            return remove_all(&files.journal());
        }
        remove_all(&files.damaged())?;
        fs::rename(files.journal(), files.damaged())?;
        durable::sync_dir(&files.root)?;
        if disk_space::free_bytes(&files.reserve()) < ROOM * self.epoch_file.bytes() + SMALL {
            remove_all(&files.damaged())?;
        }
        Ok(())
    }

    /// Removes the old store, unless records are lost that it may still hold.
    pub(super) fn remove_replaced(&self) {
        let damaged = self.files.damaged();
        if !is_there(&damaged).unwrap_or(false) || !self.lost.all().is_empty() {
            return;
        }
        match remove_all(&damaged) {
            Ok(()) => tracing::info!("the store has all records again"),
            Err(error) => tracing::warn!(%error, "the old store could not be removed"),
        }
    }
}

/// Whether the store has to be made anew because of its size; sled does not return the space of dropped entries.
pub(super) fn is_too_large(files: &Files, anchor: &Anchor) -> bool {
    let size = fs::metadata(files.db()).map_or(0, |file| file.len());
    let (bytes, is_kept_twice) = (anchor.bytes, anchor.has_segments());
    let is_too_large = is_kept_twice && size >= SMALL && size / disk_space::SPARSE >= bytes;
    if is_too_large {
        tracing::info!(
            size,
            bytes,
            "the store is made anew, because its file is large"
        );
    }
    is_too_large
}
