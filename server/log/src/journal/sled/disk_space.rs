//! Disk space: a floor of free bytes below which publishes are refused, and a reserve for writes that must succeed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::StatVfs;

use super::Files;

/// Bytes of disk space that one byte of a commit may need at once, because sled rewrites pages.
const AMPLIFICATION: u64 = 4;

/// sled's file is normally about twice as large as its entries. Above this factor it contains free space.
pub(crate) const SPARSE: u64 = 4;
/// The free space on the disk of the state directory.
#[derive(Debug)]
pub(crate) struct DiskSpace {
    /// The state directory, held open: each publish asks for the free space, and to find the directory by its path would
    /// cost three times as much as the answer.
    dir: File,
    path: PathBuf,
    reserve: u64,
    floor: u64,
    low: AtomicBool,
}

impl DiskSpace {
    /// Allocates a reserve of `reserve` bytes on the disk of `files`, and refuses publishes below `floor` free bytes.
    pub(crate) fn new(files: &Files, reserve: u64, floor: u64) -> io::Result<Self> {
        let space = Self {
            dir: File::open(&files.root)?,
            path: files.reserve(),
            reserve,
            floor,
            low: AtomicBool::new(false),
        };
        space.refresh();
        Ok(space)
    }

    /// Returns the bytes available on the disk.
    fn free(&self) -> u64 {
        available(rustix::fs::fstatvfs(&self.dir))
    }

    /// Whether a commit of `size` bytes may be published. After a refusal it returns `false` until there is clearly
    /// room.
    pub(crate) fn has_room(&self, size: u64) -> bool {
        if self.is_low() {
            return false;
        }
        let free = self.free();
        let fits = free >= self.floor + AMPLIFICATION * size;
        if !fits {
            self.low.store(true, Ordering::Relaxed);
            tracing::warn!(
                free,
                floor = self.floor,
                "the disk is nearly full: publishes are refused"
            );
        }
        fits
    }

    /// Whether publishes are refused; checks for room if they are.
    pub(crate) fn is_low(&self) -> bool {
        self.low.load(Ordering::Relaxed) && !self.refresh()
    }

    /// Releases the reserve, for writes that must succeed.
    pub(crate) fn release(&self) {
        self.low.store(true, Ordering::Relaxed);
        release(&self.path);
    }

    /// Ends a refusal if there is room for the reserve and twice the floor, and then allocates the reserve. Returns
    /// whether publishes are accepted.
    fn refresh(&self) -> bool {
        let held = fs::metadata(&self.path).map_or(0, |file| file.len());
        let wanted = self.reserve.saturating_sub(held);
        let free = self.free();
        if free < wanted + 2 * self.floor {
            self.low.store(true, Ordering::Relaxed);
            return false;
        }
        // Do not allocate the reserve from the room below the floor, which the store needs.
        if wanted > 0
            && free >= wanted + self.floor
            && let Err(error) = allocate(&self.path, self.reserve)
        {
            tracing::warn!(%error, "no space could be kept for a full disk");
            release(&self.path);
        }
        if self.low.swap(false, Ordering::Relaxed) {
            tracing::info!("there is room on the disk");
        }
        true
    }
}

/// Bytes of free disk space that sled needs to open: it starts a segment and writes its snapshot.
const SCARCE: u64 = 2 << 20;

/// Whether the disk of `dir` has so little space that any error of sled may be caused by it.
pub(crate) fn is_scarce(dir: &Path) -> bool {
    free_bytes(&dir.join("db")) < SCARCE
}

/// Deletes the reserve file at `path`.
pub(crate) fn release(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the reserve could not be released");
    }
}

/// Returns the bytes available on the disk of the file `path`; `u64::MAX` if the system does not report them.
pub fn free_bytes(path: &Path) -> u64 {
    let dir = path.parent().unwrap_or(path);
    available(rustix::fs::statvfs(dir))
}

fn available(disk: rustix::io::Result<StatVfs>) -> u64 {
    disk.map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn allocate(path: &Path, size: u64) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    fill(&file, size)?;
    file.sync_all()
}

#[cfg(target_os = "linux")]
fn fill(file: &File, size: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Err(rustix::io::Errno::OPNOTSUPP) => fill_with_zeros(file, size),
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
fn fill(file: &File, size: u64) -> io::Result<()> {
    fill_with_zeros(file, size)
}

fn fill_with_zeros(mut file: &File, size: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), size), &mut file).map(drop)
}
