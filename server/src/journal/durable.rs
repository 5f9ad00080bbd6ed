//! Files that are there, whole, after a power cut.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The extension of files on their way to their place.
const UNFINISHED: &str = "tmp";

/// Puts `parts`, one after another, at `path`: written beside it, synced, renamed, and the directory synced. Mode 0600.
/// Where that fails nothing is left beside it.
pub fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let beside = path.with_extension(UNFINISHED);
    let put = write(&beside, parts).and_then(|()| fs::rename(&beside, path));
    if put.is_err() {
        // The room is needed where there is none.
        let _ = fs::remove_file(&beside);
    }
    put?;
    sync_parent(path)
}

fn write(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.sync_all()
}

/// Takes away what a process that was killed within [`replace`] left in `dir`.
pub fn clear_unfinished(dir: &Path) -> io::Result<()> {
    clear(dir, UNFINISHED)
}

/// Takes away the files in `dir`, if it is there, that have this extension.
pub fn clear(dir: &Path, extension: &str) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_some_and(|found| found == extension) && entry.file_type()?.is_file()
        {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Opens the file at `path`, which is no link, to be written in place.
pub fn open_in_place(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .write(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
}

/// Makes the names in a directory durable.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Makes the name of `path` durable.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => sync_dir(parent),
        None => Ok(()),
    }
}

/// Makes sure that `dir` is there, and readable by its owner only where it is made now.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_put_in_place_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("taken");
        fs::create_dir(&taken).unwrap();
        replace(&taken, &[b"text"]).unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
