//! Whether a file that the journal has open is still in the state directory. If the directory was removed, a commit to it
//! would be durable nowhere, and no call would fail.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hub_core::disk::{Disk, FileId};

/// A path, and the file that it named when the journal opened it.
#[derive(Debug)]
pub(in crate::journal) struct OpenedFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    id: FileId,
}

impl OpenedFile {
    /// Remembers the file that `path` names now.
    pub(in crate::journal) fn at(disk: &Arc<dyn Disk>, path: PathBuf) -> io::Result<Self> {
        let id = disk.identify(&path)?;
        let disk = Arc::clone(disk);
        Ok(Self { disk, path, id })
    }

    /// Fails if the path names no file any more, or another one.
    pub(in crate::journal) fn check(&self) -> io::Result<()> {
        match self.disk.identify(&self.path) {
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
