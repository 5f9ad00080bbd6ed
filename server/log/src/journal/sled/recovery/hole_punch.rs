//! Returns the space of sled's free segments to the disk, without changing the length of the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};

use crate::journal::sled::open::sled_error;
use crate::journal::sled::store::BlockStore;
use crate::journal::sled::{DurabilityChecks, Files, OpenError, data_file};

/// The size of a returned range in bytes: a quarter of a segment of sled, which has 512 KiB.
const CHUNK: usize = 128 << 10;
/// The longest time to wait for sled's threads, which hold the file for a moment after it was closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Punches holes into sled's file at ranges of zeros, which does not change what a reader gets. It first opens and
/// closes sled, because sled fills its free segments with zeros when it opens.
pub(super) fn free_segments(files: &Files, checks: DurabilityChecks) -> Result<(), OpenError> {
    data_file::check(files)?;
    drop(BlockStore::open(&files.journal(), checks.fdatasync).map_err(sled_error)?);
    let file = File::options().read(true).write(true).open(files.db())?;
    lock(&file)?;
    // After a kill, the data that replaced the free segments may be in the page cache only.
    file.sync_data()?;
    Ok(punch(&file)?)
}

/// Locks the file after sled has closed it. Without this, a write by sled between the check and the punch would be
/// lost.
fn lock(file: &File) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(1));
            }
            result => return Ok(result?),
        }
    }
}

fn punch(file: &File) -> io::Result<()> {
    let (mut chunk, mut at) = (vec![0; CHUNK], 0);
    let length = file.metadata()?.len();
    while at + CHUNK as u64 <= length {
        file.read_exact_at(&mut chunk, at)?;
        if chunk.iter().all(|byte| *byte == 0) {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(file, flags, at, CHUNK as u64)?;
        }
        at += CHUNK as u64;
    }
    Ok(())
}
