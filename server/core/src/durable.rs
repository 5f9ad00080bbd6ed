//! Files that survive a power cut: after it, a file has either its old content or all of its new content.

use std::fs;
use std::io;
use std::path::Path;

use crate::disk::{Disk as _, OsDisk, UNFINISHED};

/// Replaces the file `path`, see [`crate::disk::Disk::replace`].
pub fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    OsDisk.replace(path, parts)
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

/// Makes the entries of a directory durable: files created, renamed or removed in it.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    OsDisk.sync(dir)
}

/// Creates `dir` and its missing parents with mode 0700. An existing directory keeps its mode.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    OsDisk.private_dir(dir)
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
