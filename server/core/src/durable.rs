//! Files that survive a power cut: after it, a file has either its old content or all of its new content.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The extension of temporary files that are not yet renamed to their final name.
const UNFINISHED: &str = "tmp";

/// Writes `parts`, one after another, as the file `path` with mode 0600. The steps are: write a temporary file beside
/// it, sync, rename, sync the directory. On an error before the rename, it removes the temporary file.
pub fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let beside = path.with_extension(UNFINISHED);
    let put = write(&beside, parts).and_then(|()| fs::rename(&beside, path));
    if put.is_err() {
        // A leftover file would occupy space, and the disk may be full.
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

/// Removes the temporary files that a process left in `dir` when it was killed during [`replace`].
pub fn clear_unfinished(dir: &Path) -> io::Result<()> {
    clear(dir, UNFINISHED)
}

/// Removes the files in `dir` that have this extension. A missing directory is not an error.
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

/// Opens the existing file `path` for writing in place. A symbolic link is an error.
pub fn open_in_place(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new()
        .write(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
}

/// Makes the entries of a directory durable: files created, renamed or removed in it.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Makes the directory entry of `path` durable.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => sync_dir(parent),
        None => Ok(()),
    }
}

/// Creates `dir` and its missing parents with mode 0700. An existing directory keeps its mode.
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
    fn a_failed_replace_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("taken");
        fs::create_dir(&taken).unwrap();
        replace(&taken, &[b"text"]).unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
