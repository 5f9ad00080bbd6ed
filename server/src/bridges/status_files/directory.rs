//! Reads a directory of status files without trusting its content.
//!
//! Other people can put files into a worktree. So no link is followed, and only files of the hub's own user count.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hub_protocol::{InboxName, StatusError, StatusLine, Timestamp};
use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

/// Limit of files in one directory.
const MAX_NAMES: usize = 1_000;

/// An open directory.
#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

/// The result of opening a directory.
#[derive(Debug)]
pub(super) enum Found {
    /// The directory.
    Directory(Directory),
    /// The directory does not exist yet.
    Nothing,
    /// The root, above the expected path, does not exist either.
    Gone,
    /// The path is not a directory, is not owned by the hub's user, or failed to open.
    Unusable(Unusable),
}

/// Why a file or directory is not read.
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

/// The identity of one write of a file: inode, size and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    size: u64,
    /// Modification time as seconds and nanoseconds; below, the change time.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Directory {
    /// Opens the directory `below` `root`. Every step below the root must belong to the hub's user and must not be a
    /// link.
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

    /// The sorted file names, without those that begin with a dot: drafts that are renamed when complete begin with
    /// one.
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

    /// Reads the file `name` and its stamp; `None` if it changes during the read, or is gone.
    pub(super) fn read(&self, name: &str) -> Result<Option<(Stamp, Vec<u8>)>, Unusable> {
        // Without NONBLOCK, a pipe in place of the file would block the thread for ever.
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
        // One byte above the limit is enough to detect a file that is too large.
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

    /// The file's modification time.
    pub(super) fn written(&self) -> Timestamp {
        let (seconds, nanos) = self.modified;
        Timestamp::from_millis(
            seconds
                .saturating_mul(1000)
                .saturating_add(nanos / 1_000_000),
        )
    }

    /// The Idempotency-Key of `line`, as written to the file by this write of `session`.
    pub(super) fn key(&self, session: &InboxName, line: &StatusLine) -> String {
        let (seconds, nanos) = self.modified;
        line.key(session, (self.file.1, seconds, nanos))
    }
}

fn unusable(errno: Errno) -> Unusable {
    match errno {
        Errno::LOOP => Unusable::Link,
        Errno::NOTDIR => Unusable::NoDirectory,
        // The path is a socket, or a device without a driver.
        Errno::NXIO => Unusable::NoFile,
        errno => Unusable::Io(errno.into()),
    }
}

fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}
