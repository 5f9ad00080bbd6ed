//! A new journal that replaces the existing one completely or not at all: for `hubd adopt`, `hubd import`, and the copy of
//! a cluster's log.
//!
//! It is built in `journal.making`, a state directory of its own, under the lock of the state directory. The rename to `journal.made` makes it
//! valid. Then its files move to their places one by one, the epoch file last, and the replaced files are renamed to
//! free names (`journal.replaced`, `journal.replaced.2`, …). The next process that locks the state directory finishes an
//! interrupted move. It removes a `journal.making` that was not renamed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hub_core::disk::{Disk, OsDisk};
use hub_core::durable;
use rustix::fs::{FlockOperation, flock};

use super::{Files, OpenError};

/// The locked state directory. [`DirLock::take`] has finished any interrupted replacement.
#[derive(Debug)]
pub struct DirLock {
    files: Files,
    file: File,
}

impl DirLock {
    /// Locks `dir`, and creates it if it is missing. Fails with [`OpenError::Locked`] if another process holds the
    /// lock.
    pub fn take(dir: &Path) -> Result<Self, OpenError> {
        let files = Files::new(dir);
        durable::private_dir(dir)?;
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(files.lock())?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(OpenError::Locked),
            Err(error) => return Err(OpenError::Io(error.into())),
        }
        finish(&files)?;
        Ok(Self { files, file })
    }

    /// Returns the paths of the files in the directory.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the locked file; closing it releases the lock.
    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

/// A journal under construction. Dropping it before [`StagedJournal::install`] deletes it.
#[derive(Debug)]
pub struct StagedJournal<'a> {
    lock: &'a DirLock,
    files: Files,
}

impl<'a> StagedJournal<'a> {
    /// Starts with an empty directory, in the state directory that `lock` holds.
    pub fn begin(lock: &'a DirLock) -> io::Result<Self> {
        let files = Files::new(&lock.files.staging());
        remove_all(&files.root)?;
        durable::private_dir(&files.root)?;
        Ok(Self { lock, files })
    }

    /// Returns the paths of the new journal.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the paths of the journal to replace.
    pub fn replaces(&self) -> &Files {
        &self.lock.files
    }

    /// Replaces the existing journal with this one, which must be closed and durable. Returns the paths of the
    /// replaced files.
    pub fn install(self) -> io::Result<Vec<PathBuf>> {
        let files = &self.lock.files;
        durable::sync_dir(&self.files.root)?;
        fs::rename(&self.files.root, files.staged())?;
        durable::sync_dir(&files.root)?;
        move_into_place(files)
    }
}

impl Drop for StagedJournal<'_> {
    fn drop(&mut self) {
        if let Err(error) = remove_all(&self.files.root) {
            tracing::warn!(%error, "{} could not be removed", self.files.root.display());
        }
    }
}

fn finish(files: &Files) -> io::Result<()> {
    // The process that built this journal has ended, because this one holds the lock.
    remove_all(&files.staging())?;
    if is_there(&files.staged())? {
        tracing::warn!("the files of an interrupted run are moved into place");
        move_into_place(files)?;
    }
    Ok(())
}

/// Moves the files of `journal.made` to their places, one rename after another. What is already there was moved by an
/// interrupted run. Returns the paths of the replaced files.
fn move_into_place(files: &Files) -> io::Result<Vec<PathBuf>> {
    let new = Files::new(&files.staged());
    let mut replaced = Vec::new();
    let mut put_aside = |path: &Path| -> io::Result<()> {
        if is_there(path)? {
            replaced.push(rename_aside(path)?);
            durable::sync_dir(&files.root)?;
        }
        Ok(())
    };
    // The new journal has a new epoch file, so an existing log belongs to the old journal.
    if is_there(&new.epoch())? {
        put_aside(&files.wal())?;
    }
    let pairs = [
        (new.journal(), files.journal()),
        (new.segments(), files.segments()),
        (new.snapshots(), files.snapshots()),
        (new.epoch(), files.epoch()),
    ];
    for (new, place) in pairs {
        if is_there(&new)? {
            put_aside(&place)?;
            fs::rename(new, place)?;
            durable::sync_dir(&files.root)?;
        }
    }
    // This process wrote and synced the new journal without an error, so the page cache can be trusted.
    remove_file(&files.suspect())?;
    remove_all(&files.staged())?;
    durable::sync_dir(&files.root)?;
    Ok(replaced)
}

/// Renames `path` to an unused name, so that earlier replaced files stay. Returns the new path.
fn rename_aside(path: &Path) -> io::Result<PathBuf> {
    let mut unused = path.with_extension("replaced");
    let mut number = 2;
    while is_there(&unused)? {
        unused = path.with_extension(format!("replaced.{number}"));
        number += 1;
    }
    fs::rename(path, &unused)?;
    Ok(unused)
}

/// Whether `path` exists, even as a broken symbolic link.
pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    OsDisk.is_there(path)
}

/// Removes the directory `dir` with its content, if it exists.
pub(crate) fn remove_all(dir: &Path) -> io::Result<()> {
    if is_there(dir)? {
        fs::remove_dir_all(dir)?;
    }
    Ok(())
}

/// Removes the file `path`, if it exists.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    if is_there(path)? {
        fs::remove_file(path)?;
    }
    Ok(())
}
