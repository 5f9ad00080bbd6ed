//! A copy of sled's files, made before sled opens them: sled treats unreadable and broken data as the end of its log, and
//! overwrites what lies behind it.
//!
//! While the hub reads the data file from end to end, it copies the file if there is enough space. On a read error, the
//! hub refuses to start, names the file and changes nothing. The copy is made in `journal.opening.part`, and renamed to
//! `journal.opening` when it is complete and durable. It replaces `journal` if sled does not find all records; if this
//! start is killed, the next one restores it. Nothing is committed while it exists, so it is never worse than the files
//! that sled has changed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use hub_core::durable;

use crate::journal::sled::staging::{is_there, remove_all};
use crate::journal::sled::{Files, OpenError, data_file, free_bytes};

/// Bytes of disk space that must stay free.
const SPARE: u64 = 64 << 20;

/// The copy; it does not exist if the disk had no room for it.
#[derive(Debug)]
pub(crate) struct PreOpenBackup {
    files: Files,
}

impl PreOpenBackup {
    /// Copies sled's files. Fails if the data file cannot be read from end to end. A failed write only means that
    /// there is no copy.
    pub(crate) fn take(files: &Files) -> Result<Self, OpenError> {
        let mut db = has_room(files).then(|| begin_copy(files)).and_then(or_none);
        let checked = data_file::check_into(files, |bytes, at| {
            db = db
                .take()
                .filter(|db| or_none(db.write_all_at(bytes, at)).is_some());
        });
        let copied = checked.is_ok() && db.is_some() && or_none(finish_copy(files)).is_some();
        let copy = Self {
            files: files.clone(),
        };
        if !copied {
            copy.discard()?;
        }
        checked?;
        Ok(copy)
    }

    /// Replaces the files that sled may have changed with the copy.
    pub(crate) fn restore(self) -> io::Result<()> {
        Self::finish(&self.files)
    }

    /// Removes the copy after sled has found all records. A copy that reappeared later would remove new commits, so
    /// it is durably renamed first.
    pub(crate) fn discard(&self) -> io::Result<()> {
        if is_there(&complete_dir(&self.files))? {
            fs::rename(complete_dir(&self.files), partial_dir(&self.files))?;
            durable::sync_dir(&self.files.root)?;
        }
        remove_all(&partial_dir(&self.files))
    }

    /// Puts a complete copy in place, and removes partial copies.
    pub(crate) fn finish(files: &Files) -> io::Result<()> {
        remove_all(&changed_dir(files))?;
        if is_there(&complete_dir(files))? {
            tracing::warn!("the journal is put back as it was before sled opened it");
            if is_there(&files.journal())? {
                fs::rename(files.journal(), changed_dir(files))?;
            }
            fs::rename(complete_dir(files), files.journal())?;
            durable::sync_dir(&files.root)?;
            remove_all(&changed_dir(files))?;
        }
        remove_all(&partial_dir(files))
    }
}

/// The path of a complete copy.
fn complete_dir(files: &Files) -> PathBuf {
    files.root.join("journal.opening")
}

/// The path of a copy that is being made or removed.
fn partial_dir(files: &Files) -> PathBuf {
    files.root.join("journal.opening.part")
}

/// The path of the files that sled has changed, while the copy replaces them.
fn changed_dir(files: &Files) -> PathBuf {
    files.root.join("journal.cut")
}

fn has_room(files: &Files) -> bool {
    let size = fs::metadata(files.db()).map_or(0, |file| file.len());
    size > 0 && free_bytes(&files.reserve()) >= size + SPARE
}

/// Returns the result of a step of copying; `None` after an error, and then sled opens its files without a copy.
fn or_none<T>(step: io::Result<T>) -> Option<T> {
    step.inspect_err(|error| tracing::warn!(%error, "the journal's files could not be copied"))
        .ok()
}

/// Copies all files except sled's data file. Returns the new, empty data file.
fn begin_copy(files: &Files) -> io::Result<File> {
    let partial = partial_dir(files);
    durable::private_dir(&partial)?;
    for entry in fs::read_dir(files.journal())? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != "db" {
            fs::copy(entry.path(), partial.join(entry.file_name()))?;
        }
    }
    File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(partial.join("db"))
}

/// Makes the copy durable and renames it.
fn finish_copy(files: &Files) -> io::Result<()> {
    let partial = partial_dir(files);
    for entry in fs::read_dir(&partial)? {
        File::open(entry?.path())?.sync_all()?;
    }
    durable::sync_dir(&partial)?;
    fs::rename(partial, complete_dir(files))?;
    durable::sync_dir(&files.root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::sled::DirLock;

    /// Creates a state directory with these files.
    fn left(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    /// Returns sled's file as the next start finds it, and the names of the files beside `journal`.
    fn found(dir: &tempfile::TempDir) -> (String, Vec<String>) {
        let lock = DirLock::take(dir.path()).unwrap();
        let db = fs::read_to_string(lock.files().db()).unwrap();
        let names = fs::read_dir(dir.path()).unwrap();
        let beside = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        (
            db,
            beside
                .filter(|it| it.starts_with("journal.") && it != "journal.lock")
                .collect(),
        )
    }

    #[test]
    fn a_complete_copy_replaces_the_files_of_a_killed_start() {
        let (whole, cut) = (("journal.opening/db", "whole"), ("journal.cut/db", "cut"));
        for files in [
            &[whole, ("journal/db", "cut")][..],
            &[whole, ("journal/db", "cut"), cut],
            &[whole, cut],
            &[("journal/db", "whole"), cut],
            &[("journal/db", "whole"), ("journal.opening.part/db", "who")],
        ] {
            assert_eq!(found(&left(files)), ("whole".into(), vec![]), "{files:?}");
        }
    }

    #[test]
    fn a_copy_is_restored_by_the_next_start_until_it_is_discarded() {
        let dir = left(&[("journal/db", "whole"), ("journal/conf", "settings")]);
        let files = Files::new(dir.path());
        let copy = PreOpenBackup::take(&files).unwrap();
        fs::write(files.db(), "cut").unwrap();
        drop(copy);
        assert_eq!(found(&dir), ("whole".into(), vec![]));
        let copy = PreOpenBackup::take(&files).unwrap();
        fs::write(files.db(), "more").unwrap();
        copy.discard().unwrap();
        assert_eq!(found(&dir), ("more".into(), vec![]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_copy_that_cannot_be_written_does_not_prevent_the_start() {
        let dir = left(&[("journal/db", "whole")]);
        let files = Files::new(dir.path());
        fs::create_dir(partial_dir(&files)).unwrap();
        std::os::unix::fs::symlink("/dev/full", partial_dir(&files).join("db")).unwrap();
        PreOpenBackup::take(&files).unwrap().restore().unwrap();
        assert_eq!(found(&dir), ("whole".into(), vec![]));
    }
}
