//! A new journal that replaces the existing one completely or not at all.
//!
//! It is made in `journal.making`, a state directory of its own. The rename to `journal.made` makes it valid. Then
//! its files move to their places one by one, and the replaced ones are renamed to free names. The next process that
//! locks the state directory finishes an interrupted move. It removes a `journal.making` that was not renamed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{Files, OpenError, untouched};
use crate::core::durable;

/// The locked state directory. [`Lock::take`] has finished any interrupted replacement.
#[derive(Debug)]
pub struct Lock {
    files: Files,
    file: File,
}

impl Lock {
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
    pub(super) fn into_file(self) -> File {
        self.file
    }
}

/// A journal under construction. Dropping it before [`Making::put_in_place`] deletes it.
#[derive(Debug)]
pub struct Making<'a> {
    lock: &'a Lock,
    files: Files,
}

impl<'a> Making<'a> {
    /// Starts with an empty directory, in the state directory that `lock` holds.
    pub fn begin(lock: &'a Lock) -> io::Result<Self> {
        let files = Files::new(&lock.files.making());
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
    pub fn put_in_place(self) -> io::Result<Vec<PathBuf>> {
        let files = &self.lock.files;
        durable::sync_dir(&self.files.root)?;
        fs::rename(&self.files.root, files.made())?;
        durable::sync_dir(&files.root)?;
        install(files)
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if let Err(error) = remove_all(&self.files.root) {
            tracing::warn!(%error, "{} could not be removed", self.files.root.display());
        }
    }
}

fn finish(files: &Files) -> io::Result<()> {
    // The process that was making this journal has ended, because this one holds the lock.
    remove_all(&files.making())?;
    untouched::finish(files)?;
    if is_there(&files.made())? {
        tracing::warn!("what was made by a run that was cut short is put in place");
        install(files)?;
    }
    // Earlier builds made the copy complete here, and replaced the journal with two renames.
    let copied = files.root.join("journal.fresh");
    if !is_there(&files.journal())? && is_there(&copied)? {
        fs::rename(copied, files.journal())?;
        durable::sync_dir(&files.root)?;
    }
    Ok(())
}

fn install(files: &Files) -> io::Result<Vec<PathBuf>> {
    let mut replaced = Vec::new();
    while let Some(moved) = step(files)? {
        replaced.extend(moved.aside);
        durable::sync_dir(&files.root)?;
    }
    // This process wrote and synced the new journal without an error, so the page cache can be trusted.
    remove_file(&files.suspect())?;
    remove_all(&files.made())?;
    durable::sync_dir(&files.root)?;
    Ok(replaced)
}

struct Moved {
    /// The new path of the replaced file, if one was replaced.
    aside: Option<PathBuf>,
}

/// Does the next outstanding rename; `None` if all are done.
fn step(files: &Files) -> io::Result<Option<Moved>> {
    let made = Files::new(&files.made());
    // The new journal has a new epoch file, so an existing log belongs to the old journal.
    if is_there(&made.epoch())? && is_there(&files.wal())? {
        let aside = Some(put_aside(&files.wal())?);
        return Ok(Some(Moved { aside }));
    }
    let pairs = [
        (made.journal(), files.journal()),
        (made.snapshots(), files.snapshots()),
        (made.epoch(), files.epoch()),
    ];
    for (new, place) in pairs {
        if !is_there(&new)? {
            continue;
        }
        let aside = if is_there(&place)? {
            Some(put_aside(&place)?)
        } else {
            fs::rename(new, place)?;
            None
        };
        return Ok(Some(Moved { aside }));
    }
    Ok(None)
}

/// Renames `path` to an unused name, so that earlier replaced files stay. Returns the new path.
pub(in crate::log::journal) fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let mut aside = path.with_extension("replaced");
    let mut number = 2;
    while is_there(&aside)? {
        aside = path.with_extension(format!("replaced.{number}"));
        number += 1;
    }
    fs::rename(path, &aside)?;
    Ok(aside)
}

/// Whether `path` exists, even as a broken symbolic link.
pub(super) fn is_there(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the directory `dir` with its content, if it exists.
pub(super) fn remove_all(dir: &Path) -> io::Result<()> {
    if is_there(dir)? {
        fs::remove_dir_all(dir)?;
    }
    Ok(())
}

/// Removes the file `path`, if it exists.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    if is_there(path)? {
        fs::remove_file(path)?;
    }
    Ok(())
}
