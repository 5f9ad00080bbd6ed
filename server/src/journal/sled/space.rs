//! Room on the disk: a floor below which nothing is published, and a reserve for what must go on.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of disk that a byte of a commit may need at once: sled rewrites pages as it goes.
const AMPLIFICATION: u64 = 4;

/// The room around a reserve file.
#[derive(Debug)]
pub(super) struct Space {
    path: PathBuf,
    reserve: u64,
    floor: u64,
    low: AtomicBool,
}

impl Space {
    /// Keeps `reserve` bytes in the file at `path`, and publishes only above `floor` free bytes.
    pub(super) fn new(path: PathBuf, reserve: u64, floor: u64) -> Self {
        let space = Self {
            path,
            reserve,
            floor,
            low: AtomicBool::new(false),
        };
        space.refresh();
        space
    }

    /// Whether a commit of `size` bytes may be published. Says no until there is clearly room again.
    pub(super) fn has_room(&self, size: u64) -> bool {
        if self.is_low() {
            return false;
        }
        let free = free_bytes(&self.path);
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

    /// Whether publishes are refused; looks whether there is room again.
    pub(super) fn is_low(&self) -> bool {
        self.low.load(Ordering::Relaxed) && !self.refresh()
    }

    /// Gives the reserve to the store, for what must still be written.
    pub(super) fn release(&self) {
        self.low.store(true, Ordering::Relaxed);
        release(&self.path);
    }

    /// Takes the reserve back where there is room for it and twice the floor; whether there is.
    fn refresh(&self) -> bool {
        let held = fs::metadata(&self.path).map_or(0, |file| file.len());
        let wanted = self.reserve.saturating_sub(held);
        if free_bytes(&self.path) < wanted + 2 * self.floor {
            self.low.store(true, Ordering::Relaxed);
            return false;
        }
        if wanted > 0
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

/// Gives back what the reserve file at `path` holds.
pub(super) fn release(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the reserve could not be released");
    }
}

/// Bytes that may still be written on the disk of the file `path`; no limit where the system does not say.
pub fn free_bytes(path: &Path) -> u64 {
    let dir = path.parent().unwrap_or(path);
    rustix::fs::statvfs(dir).map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
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
