//! Reads a directory without trusting its content.
//!
//! Other people can put files into a worktree. So no link is followed, and only files of the hub's own user count.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use hub_protocol::Timestamp;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Limit of files in one directory.
const MAX_NAMES: usize = 1_000;

/// An open directory.
#[derive(Debug)]
pub(super) struct UntrustedDir(OwnedFd);

/// Why a directory is not open.
#[derive(Debug)]
pub(super) enum DirError {
    /// The directory does not exist.
    Missing,
    /// The root, above the expected path, does not exist either.
    RootMissing,
    /// The path is not a directory, is not owned by the hub's user, or failed to open.
    Refused(FileError),
}

/// Why a file or directory is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("it is a symbolic link")]
    SymbolicLink,
    #[error("it belongs to user {0}")]
    ForeignOwner(u32),
    #[error("it is no regular file")]
    NotAFile,
    #[error("it is no directory")]
    NotADirectory,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The identity of one write of a file: inode, size and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    /// Modification time as seconds and nanoseconds; below, the change time.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl UntrustedDir {
    /// Opens the directory `below` `root`. Every step below the root must belong to the hub's user and must not be a
    /// link.
    pub(super) fn open(root: &Path, below: &[&str]) -> Result<Self, DirError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let refused = |errno| DirError::Refused(file_error(errno));
        let opened = rustix::fs::open(root, flags, Mode::empty());
        let mut dir = opened.map_err(|errno| match errno {
            Errno::NOENT => DirError::RootMissing,
            errno => refused(errno),
        })?;
        for part in below {
            let opened = rustix::fs::openat(&dir, *part, flags | OFlags::NOFOLLOW, Mode::empty());
            dir = opened.map_err(|errno| match errno {
                Errno::NOENT => DirError::Missing,
                errno => refused(errno),
            })?;
            let owner = rustix::fs::fstat(&dir).map_err(refused)?.st_uid;
            if owner != own_user() {
                return Err(DirError::Refused(FileError::ForeignOwner(owner)));
            }
        }
        Ok(Self(dir))
    }

    /// The sorted file names, without those that begin with a dot: drafts that are renamed when complete begin with
    /// one.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for name in self.entries()? {
            names.push(name?);
            if names.len() > MAX_NAMES {
                return Err(io::Error::other(format!("more than {MAX_NAMES} files")));
            }
        }
        names.sort();
        Ok(names)
    }

    /// The file names in any order, without those that begin with a dot.
    pub(super) fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<String>>> {
        let names = Dir::read_from(&self.0)?.map(|entry| {
            let entry = entry?;
            Ok(entry.file_name().to_string_lossy().into_owned())
        });
        let hidden = |name: &io::Result<String>| name.as_ref().is_ok_and(|it| it.starts_with('.'));
        Ok(names.filter(move |name| !hidden(name)))
    }

    /// Removes the hidden files that are `meant` and that were not written for longer than `age`.
    pub(super) fn remove_hidden(
        &self,
        meant: impl Fn(&str) -> bool,
        age: Duration,
    ) -> io::Result<()> {
        let now = Timestamp::now().as_millis() / 1000;
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if !name.starts_with('.') || !meant(&name) {
                continue;
            }
            let found = rustix::fs::statat(&self.0, &*name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(found) = found else { continue };
            let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
            let seconds = now.saturating_sub(found.st_mtime);
            if is_file && u64::try_from(seconds).is_ok_and(|it| it > age.as_secs()) {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Removes the file or the link `name`; nothing if it is gone.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Moves whatever has the name `name` into the directory `below` this one, which must not be a link.
    pub(super) fn move_into(&self, name: &str, below: &str) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(&self.0, below, flags, Mode::empty())?;
        Ok(rustix::fs::renameat(&self.0, name, dir, name)?)
    }

    /// Reads up to `max_bytes` of the file `name`, and its version; `None` if it changes during the read, or is gone.
    pub(super) fn read(
        &self,
        name: &str,
        max_bytes: usize,
    ) -> Result<Option<(FileVersion, Vec<u8>)>, FileError> {
        let Some((file, meta)) = self.open_file(name)? else {
            return Ok(None);
        };
        let version = FileVersion::of(&meta);
        let mut content = Vec::new();
        (&file).take(max_bytes as u64).read_to_end(&mut content)?;
        let unchanged = FileVersion::of(&file.metadata()?) == version;
        Ok(unchanged.then_some((version, content)))
    }

    /// Reads the last bytes of the file `name`, at most so many, whether or not it grows meanwhile; `None` if it is gone.
    pub(super) fn read_end(
        &self,
        name: &str,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, FileError> {
        let Some((mut file, meta)) = self.open_file(name)? else {
            return Ok(None);
        };
        let begin = meta.len().saturating_sub(max_bytes as u64);
        file.seek(SeekFrom::Start(begin))?;
        let mut content = Vec::new();
        file.take(max_bytes as u64).read_to_end(&mut content)?;
        Ok(Some(content))
    }

    /// Opens the regular file `name` of the hub's user; `None` if it is gone.
    fn open_file(&self, name: &str) -> Result<Option<(File, Metadata)>, FileError> {
        // Without NONBLOCK, a pipe in place of the file would block the thread for ever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(file_error(errno)),
        };
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(FileError::NotAFile);
        }
        if meta.uid() != own_user() {
            return Err(FileError::ForeignOwner(meta.uid()));
        }
        Ok(Some((file, meta)))
    }
}

impl From<DirError> for io::Error {
    fn from(error: DirError) -> Self {
        match error {
            DirError::Missing | DirError::RootMissing => Self::from(io::ErrorKind::NotFound),
            DirError::Refused(FileError::Io(error)) => error,
            DirError::Refused(refused) => Self::other(refused),
        }
    }
}

impl FileVersion {
    fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// The file's modification time.
    pub(super) fn modified_at(&self) -> Timestamp {
        let (seconds, nanos) = self.modified;
        Timestamp::from_millis(
            seconds
                .saturating_mul(1000)
                .saturating_add(nanos / 1_000_000),
        )
    }

    /// The inode, and the modification time as seconds and nanoseconds.
    pub(super) fn inode_and_time(&self) -> (u64, i64, i64) {
        (self.inode, self.modified.0, self.modified.1)
    }
}

fn file_error(errno: Errno) -> FileError {
    match errno {
        Errno::LOOP => FileError::SymbolicLink,
        Errno::NOTDIR => FileError::NotADirectory,
        // The path is a socket, or a device without a driver.
        Errno::NXIO => FileError::NotAFile,
        errno => FileError::Io(errno.into()),
    }
}

/// The hub's own user.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
