//! A directory of status files, read without trusting what lies in it.
//!
//! A worktree is somebody else's text as well: nothing in it may lead to another place, and only our own files speak.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hub_protocol::{StatusError, StatusLine, Timestamp};
use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

/// Names that are looked at in one directory.
const MAX_NAMES: usize = 1_000;

/// An open directory.
#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

/// What there is at the place of a directory.
#[derive(Debug)]
pub(super) enum Found {
    /// The directory.
    Directory(Directory),
    /// Nothing yet.
    Nothing,
    /// Not even the directory above everything.
    Gone,
    /// Something else, or not ours.
    Unusable(Unusable),
}

/// Why something is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("it is a symbolic link")]
    Link,
    #[error("it belongs to user {0}")]
    Foreign(u32),
    #[error("it is no regular file")]
    NoFile,
    #[error("it is no directory")]
    NoDirectory,
    #[error(transparent)]
    Content(#[from] StatusError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What tells one write of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Directory {
    /// The directory `below` `root`, each step of it ours and no link.
    pub(super) fn find(root: &Path, below: &[&str]) -> Found {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut dir = match rustix::fs::open(root, flags, Mode::empty()) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Found::Gone,
            Err(errno) => return Found::Unusable(unusable(errno)),
        };
        for part in below {
            dir = match rustix::fs::openat(&dir, *part, flags | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(dir) => dir,
                Err(Errno::NOENT) => return Found::Nothing,
                Err(errno) => return Found::Unusable(unusable(errno)),
            };
            match rustix::fs::fstat(&dir) {
                Ok(stat) if stat.st_uid == us() => {}
                Ok(stat) => return Found::Unusable(Unusable::Foreign(stat.st_uid)),
                Err(errno) => return Found::Unusable(unusable(errno)),
            }
        }
        Found::Directory(Self(dir))
    }

    /// The names in it, sorted, without those that begin with a dot: a draft that becomes a file by renaming has one.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                names.push(name);
            }
            if names.len() > MAX_NAMES {
                return Err(io::Error::other(format!("more than {MAX_NAMES} files")));
            }
        }
        names.sort();
        Ok(names)
    }

    /// The content of the file `name` and its stamp; `None` while somebody is writing it, or if it is gone.
    pub(super) fn read(&self, name: &str) -> Result<Option<(Stamp, Vec<u8>)>, Unusable> {
        // Without NONBLOCK, a pipe in the place of a file would hold us for ever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(unusable(errno)),
        };
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(Unusable::NoFile);
        }
        if meta.uid() != us() {
            return Err(Unusable::Foreign(meta.uid()));
        }
        let stamp = Stamp::of(&meta);
        let mut content = Vec::new();
        // One byte more than can be a status is enough to know that it is too much.
        (&file)
            .take(StatusLine::MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut content)?;
        let whole = Stamp::of(&file.metadata()?) == stamp;
        Ok(whole.then_some((stamp, content)))
    }
}

impl Stamp {
    fn of(meta: &std::fs::Metadata) -> Self {
        Self {
            file: (meta.dev(), meta.ino()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// When the file was written.
    pub(super) fn written(&self) -> Timestamp {
        let (seconds, nanos) = self.modified;
        Timestamp::from_millis(
            seconds
                .saturating_mul(1000)
                .saturating_add(nanos / 1_000_000),
        )
    }

    /// When the file was written, as exactly as the file system knows.
    pub(super) fn moment(&self) -> String {
        format!("{}.{:09}", self.modified.0, self.modified.1)
    }
}

fn unusable(errno: Errno) -> Unusable {
    match errno {
        Errno::LOOP => Unusable::Link,
        Errno::NOTDIR => Unusable::NoDirectory,
        // A socket, or a device without a driver.
        Errno::NXIO => Unusable::NoFile,
        errno => Unusable::Io(errno.into()),
    }
}

fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}
