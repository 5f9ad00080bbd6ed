//! Whether a file that the journal has open is still in the state directory. If the directory was removed, a commit to it
//! would be durable nowhere, and no call would fail.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A path, and the file that it named when the journal opened it.
#[derive(Debug)]
pub(in crate::journal) struct OpenedFile {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl OpenedFile {
    /// Remembers the file that `path` names now.
    pub(in crate::journal) fn at(path: PathBuf) -> io::Result<Self> {
        let found = fs::metadata(&path)?;
        let id = (found.dev(), found.ino());
        Ok(Self { path, id })
    }

    /// Fails if the path names no file any more, or another one.
    pub(in crate::journal) fn check(&self) -> io::Result<()> {
        match id_of(&self.path) {
            Ok(found) if found == self.id => Ok(()),
            // Any other error says nothing about the file.
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(())
            }
            _ => Err(io::Error::other(format!(
                "{} was removed or replaced while the hub was running",
                self.path.display()
            ))),
        }
    }
}

/// Asks for nothing but device and inode: a file whose times were read gets a new time at its next write, and the sync of
/// a commit would write that too.
#[cfg(target_os = "linux")]
fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::INO)?;
    let device = makedev(found.stx_dev_major, found.stx_dev_minor);
    Ok((device, found.stx_ino))
}

#[cfg(not(target_os = "linux"))]
fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}
