//! Shrinks sled's file at a start of the hub, because sled does not return the space of dropped entries: the journal is
//! copied if there is room for a copy. Else the free segments' space is first returned to the disk.

use std::fs;

#[cfg(target_os = "linux")]
use super::hole_punch;
use super::{CopySource, Replaced, replace};
use crate::journal::epoch::Anchor;
use crate::journal::sled::disk_space::{self, free_bytes};
use crate::journal::sled::staging::{DirLock, remove_all};
use crate::journal::sled::{DurabilityChecks, Files, OpenError};

/// A file below this size in bytes is not rewritten.
const SMALL: u64 = 64 << 20;
/// Bytes of disk space that must stay free.
const SPARE: u64 = 3 << 20;

/// Rewrites sled's file if it is much larger than its entries, because sled does not return the space of dropped
/// ones.
pub(crate) fn shrink(lock: &DirLock, anchor: &Anchor, checks: DurabilityChecks) {
    let files = lock.files();
    let size = fs::metadata(files.db()).map_or(0, |file| file.len());
    if size < SMALL || size / disk_space::SPARSE < anchor.bytes {
        return;
    }
    let (bytes, needed) = (anchor.bytes, SPARE + anchor.bytes + anchor.bytes / 2);
    let mut source = CopySource::InPlace;
    if free_bytes(&files.reserve()) < needed {
        source = make_room(files, checks);
    }
    let free = free_bytes(&files.reserve());
    if free < needed {
        tracing::warn!(
            size,
            bytes,
            free,
            needed,
            "there is no room to write the journal's file anew: free some for the next start"
        );
        return;
    }
    tracing::info!(size, bytes, "the journal's file is written anew");
    let mut replaced = replace(lock, checks, &[source]);
    if matches!(replaced, Err(OpenError::Full)) && source == CopySource::InPlace {
        // The copy takes more than its entries when sled writes them.
        let source = make_room(files, checks);
        replaced = replace(lock, checks, &[source]);
    }
    match replaced {
        Ok(Replaced { aside, whole: true }) => {
            let removed = aside.iter().try_for_each(|path| remove_all(path));
            if let Err(error) = removed {
                tracing::warn!(%error, "the old files could not be removed");
            }
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the journal's file could not be written anew"),
    }
}

/// Frees the reserve, and the space of sled's free segments. Returns the source to copy from: sled would fill that space
/// again when it opens the store.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
fn make_room(files: &Files, checks: DurabilityChecks) -> CopySource {
    disk_space::release(&files.reserve());
    #[cfg(target_os = "linux")]
    if let Err(error) = hole_punch::free_segments(files, checks) {
        tracing::warn!(%error, "the space of the dropped entries could not be returned to the disk");
    }
    CopySource::Salvaged
}
