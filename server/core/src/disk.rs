//! The calls of files on which the journal's durability rests. A simulation has a disk of its own, which fails and forgets.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The extension of temporary files that are not yet renamed to their final name.
pub(crate) const UNFINISHED: &str = "tmp";

/// Device and inode of a file.
pub type FileId = (u64, u64);

/// A file system.
pub trait Disk: Debug + Send + Sync {
    /// Reads the file `path`.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Reads up to `length` bytes of the file `path` at this offset; fewer only at its end.
    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>>;

    /// Returns the size of the file `path` in bytes.
    fn size(&self, path: &Path) -> io::Result<u64>;

    /// Returns the bytes available on the disk of the directory `dir`; `u64::MAX` if the system does not report them.
    fn free(&self, dir: &Path) -> u64;

    /// Creates the file `path` with mode 0600, or empties it.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Opens the existing file `path` for writing in place. A symbolic link is an error.
    fn open_in_place(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Renames a file, in place of the file `to` if there is one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes the file `path`.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Whether `path` exists, even as a broken symbolic link.
    fn is_there(&self, path: &Path) -> io::Result<bool>;

    /// Returns the files in `dir`, in any order. A missing directory is empty.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;

    /// Creates `dir` and its missing parents with mode 0700. An existing directory keeps its mode.
    fn private_dir(&self, dir: &Path) -> io::Result<()>;

    /// Makes a file durable, or the entries of a directory: files created, renamed or removed in it.
    fn sync(&self, path: &Path) -> io::Result<()>;

    /// Opens a directory: syncing it makes its entries durable.
    fn open_dir(&self, dir: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Returns what tells the file `path` from another one that takes its place.
    fn identify(&self, path: &Path) -> io::Result<FileId>;

    /// Writes `parts`, one after another, as the file `path` with mode 0600: after a power cut it has either its old content
    /// or all of its new content. The steps are: write a temporary file beside it, sync, rename, sync the directory. On an
    /// error before the rename, it removes the temporary file.
    fn replace(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let beside = path.with_extension(UNFINISHED);
        let write = || {
            let (file, mut offset) = (self.create(&beside)?, 0);
            for part in parts {
                file.write_all_at(part, offset)?;
                offset += part.len() as u64;
            }
            file.sync_all()
        };
        let put = write().and_then(|()| self.rename(&beside, path));
        if put.is_err() {
            // A leftover file would occupy space, and the disk may be full.
            let _ = self.remove(&beside);
        }
        put?;
        path.parent().map_or(Ok(()), |parent| self.sync(parent))
    }
}

/// An open file.
pub trait DiskFile: Debug + Send + Sync {
    /// Writes all of `bytes` at this offset.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the file's content durable, and its size.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes the file's content and properties durable.
    fn sync_all(&self) -> io::Result<()>;
}

/// The file system of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct OsDisk;

impl Disk for OsDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let (file, mut bytes, mut found) = (File::open(path)?, vec![0; length], 0);
        while found < length {
            match file.read_at(&mut bytes[found..], offset + found as u64)? {
                0 => break,
                more => found += more,
            }
        }
        bytes.truncate(found);
        Ok(bytes)
    }

    fn size(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn free(&self, dir: &Path) -> u64 {
        rustix::fs::statvfs(dir)
            .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        Ok(Box::new(options.open(path)?))
    }

    fn open_in_place(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = File::options();
        options.write(true).custom_flags(no_follow);
        Ok(Box::new(options.open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn is_there(&self, path: &Path) -> io::Result<bool> {
        match fs::symlink_metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        entries.map(|entry| Ok(entry?.path())).collect()
    }

    fn private_dir(&self, dir: &Path) -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn open_dir(&self, dir: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(File::open(dir)?))
    }

    /// Asks for nothing but device and inode: a file whose times were read gets a new time at its next write, and the sync of
    /// a commit would write that too.
    #[cfg(target_os = "linux")]
    fn identify(&self, path: &Path) -> io::Result<FileId> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::INO)?;
        let device = makedev(found.stx_dev_major, found.stx_dev_minor);
        Ok((device, found.stx_ino))
    }

    #[cfg(not(target_os = "linux"))]
    fn identify(&self, path: &Path) -> io::Result<FileId> {
        use std::os::unix::fs::MetadataExt;
        let found = fs::metadata(path)?;
        Ok((found.dev(), found.ino()))
    }
}

impl DiskFile for File {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        File::sync_all(self)
    }
}
