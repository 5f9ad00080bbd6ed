//! A journal in the making: it takes the place of the one that is there as a whole, or not at all.
//!
//! It is made in `journal.making`, a state directory of its own. Renamed to `journal.made` it counts: what it holds then
//! takes its place file by file, and what was there is put aside under a free name. Whoever takes the state directory
//! next finishes that first, so it may be cut short anywhere. What is not renamed yet is nothing, and is removed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{Files, OpenError};
use crate::journal::durable;

/// The state directory, taken for this process. What a process before it left half in place is in place.
#[derive(Debug)]
pub struct Lock {
    files: Files,
    file: File,
}

impl Lock {
    /// Takes `dir`, which is made where it is missing.
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

    /// What lies in the directory.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The file that is locked as long as it is open.
    pub(super) fn into_file(self) -> File {
        self.file
    }
}

/// A journal that is being made; without [`Making::put_in_place`] nothing of it stays.
#[derive(Debug)]
pub struct Making<'a> {
    lock: &'a Lock,
    files: Files,
}

impl<'a> Making<'a> {
    /// Begins with an empty directory beside the journal that `lock` has.
    pub fn begin(lock: &'a Lock) -> io::Result<Self> {
        let files = Files::new(&lock.files.making());
        remove_all(&files.root)?;
        durable::private_dir(&files.root)?;
        Ok(Self { lock, files })
    }

    /// Where it is made.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Whose place it takes.
    pub fn replaces(&self) -> &Files {
        &self.lock.files
    }

    /// Puts what was made in place; it is closed and durable. Gives where that lies which was there before.
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
    // Whoever made it is gone.
    remove_all(&files.making())?;
    if is_there(&files.made())? {
        tracing::warn!("what was made by a run that was cut short is put in place");
        install(files)?;
    }
    // The complete copy of a build that put it in place by two renames.
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
    // It was written and synced just now, by a process to which nothing failed.
    remove_file(&files.suspect())?;
    remove_all(&files.made())?;
    durable::sync_dir(&files.root)?;
    Ok(replaced)
}

struct Moved {
    /// Where it lies, if it had to make room.
    aside: Option<PathBuf>,
}

/// Does the first rename that is left to do, if there is one.
fn step(files: &Files) -> io::Result<Option<Moved>> {
    let made = Files::new(&files.made());
    // Under another identity the log belongs to the journal of before.
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

/// Renames `path` to a name that nothing has: what was put aside before stays. Gives the name.
pub(in crate::journal) fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let mut aside = path.with_extension("replaced");
    let mut number = 2;
    while is_there(&aside)? {
        aside = path.with_extension(format!("replaced.{number}"));
        number += 1;
    }
    fs::rename(path, &aside)?;
    Ok(aside)
}

/// Whether `path` exists, be it as a link that leads nowhere.
fn is_there(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn remove_all(dir: &Path) -> io::Result<()> {
    if is_there(dir)? {
        fs::remove_dir_all(dir)?;
    }
    Ok(())
}

/// Removes the file at `path`, if there is one.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    if is_there(path)? {
        fs::remove_file(path)?;
    }
    Ok(())
}
