//! Whether a file that the journal has open is still in the state directory. If the directory was removed, a commit to it
//! would be durable nowhere, and no call would fail.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A path, and the file that it named when the journal opened it.
#[derive(Debug)]
pub(in crate::log::journal) struct OpenedFile {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl OpenedFile {
    /// Remembers the file that `path` names now.
    pub(in crate::log::journal) fn at(path: PathBuf) -> io::Result<Self> {
        let id = id_of(&fs::metadata(&path)?);
        Ok(Self { path, id })
    }

    /// Fails if the path names no file any more, or another one.
    pub(in crate::log::journal) fn check(&self) -> io::Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if id_of(&found) == self.id => Ok(()),
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

fn id_of(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
