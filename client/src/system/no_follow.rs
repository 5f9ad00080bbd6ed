//! Opens files in a worktree without following links. The files there may come from others: a link may lead anywhere,
//! and opening a pipe may block for ever.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;

/// An open directory, from which paths are resolved one step at a time.
#[derive(Debug)]
pub(crate) struct Dir(OwnedFd);

impl Dir {
    /// Opens the directory `path`. The caller trusts the path: links on the way are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens the directory `name` in this one. A link is an error.
    pub(crate) fn step(&self, name: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(
            &self.0,
            name,
            flags,
            Mode::empty(),
        )?))
    }

    /// Opens the directory at `below`, one step at a time; creates each missing step with `mode`.
    pub(crate) fn make(&self, below: &Path, mode: RawMode) -> io::Result<Self> {
        let mut dir = self.step(Path::new("."))?;
        for part in below {
            match rustix::fs::mkdirat(&dir.0, part, Mode::from_raw_mode(mode)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            dir = dir.step(Path::new(part))?;
        }
        Ok(dir)
    }

    /// Opens the directory at `below`, one step at a time.
    pub(crate) fn walk(&self, below: &Path) -> io::Result<Self> {
        let here = self.step(Path::new("."))?;
        below
            .iter()
            .try_fold(here, |dir, part| dir.step(Path::new(part)))
    }

    /// Opens the regular file `name` in this directory with `flags`; never follows a link.
    pub(crate) fn file(&self, name: &Path, flags: OFlags, mode: RawMode) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        regular(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(mode))?.into())
    }

    /// Creates the file `name` with `text`, or replaces its content.
    pub(crate) fn write(&self, name: &Path, text: &str) -> io::Result<()> {
        // Truncate only now: `file` has checked that it is a regular file.
        let mut file = self.file(name, OFlags::WRONLY | OFlags::CREATE, 0o600)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())
    }

    /// The names of the regular files in this directory.
    pub(crate) fn files(&self) -> io::Result<Vec<std::ffi::OsString>> {
        use std::os::unix::ffi::OsStrExt;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            if self.is_file(Path::new(name)) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Whether `name` is a regular file in this directory.
    pub(crate) fn is_file(&self, name: &Path) -> bool {
        rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// Removes the file or the link `name`.
    pub(crate) fn remove(&self, name: &Path) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Renames the file `from` to `to`, and replaces a file of that name.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.rename_into(from, self, to)
    }

    /// Moves the file `from` to `to` in the directory `dir`, and replaces a file of that name.
    pub(crate) fn rename_into(&self, from: &Path, dir: &Self, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &dir.0, to)?)
    }

    /// Syncs the names in this directory to disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        File::from(self.0.try_clone()?).sync_all()
    }
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_not_followed_by_any_step_or_file() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join("status")).unwrap();
        fs::write(elsewhere.join("file"), "precious").unwrap();
        let top = place.path().join("top");
        fs::create_dir(&top).unwrap();
        symlink(&elsewhere, top.join(".hub")).unwrap();
        symlink(elsewhere.join("file"), top.join("file")).unwrap();
        let dir = Dir::open(&top).unwrap();
        assert!(dir.make(Path::new(".hub/status"), 0o700).is_err());
        assert!(dir.walk(Path::new(".hub/status")).is_err());
        assert!(dir.write(Path::new("file"), "x").is_err());
        assert!(dir.files().unwrap().is_empty());
        assert_eq!(
            fs::read_to_string(elsewhere.join("file")).unwrap(),
            "precious"
        );
    }

    #[test]
    fn a_pipe_is_not_opened_as_a_file_and_blocks_nothing() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let dir = Dir::open(place.path()).unwrap();
        assert!(hub_protocol::regular_file::read(&pipe).is_err());
        assert!(dir.write(Path::new("pipe"), "x").is_err());
        assert!(dir.file(Path::new("pipe"), OFlags::RDONLY, 0).is_err());
    }
}
