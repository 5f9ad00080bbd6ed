//! The state directory: private to its user, and used by one hub at a time.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hub_core::durable;
use hub_core::secret::Token;
use hub_protocol::Seq;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

/// `O_NOFOLLOW` for open(2), which takes an int.
const NO_FOLLOW: i32 = OFlags::NOFOLLOW.bits().cast_signed();

/// The file that exists after a hub stopped by itself, until the next start. It contains the last notification that
/// may have been delivered and was not acknowledged, or 0.
const STOPPED: &str = "stopped";

/// The file that marks the journal as the copy of a cluster's log.
pub const CLUSTER_MARKER: &str = "cluster.json";

/// The state directory, locked until dropped.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    /// Kept open, because its lock marks the directory as used by a hub.
    _lock: File,
}

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// A system call failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The action that failed, a verb for the message.
        action: &'static str,
        /// The path that it was applied to.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another user may have created or changed the file or directory.
    #[error("{} {reason}", path.display())]
    Unsafe {
        /// The file or directory.
        path: PathBuf,
        /// Why it is unsafe.
        reason: String,
    },
    /// Another hub uses the directory.
    #[error("another hubd uses {} (process {holder})", path.display())]
    InUse {
        /// The state directory.
        path: PathBuf,
        /// The process ID of that hub, or `unknown`.
        holder: String,
    },
    /// The path of the socket in it has no room in a socket's address.
    #[error(
        "the path {} is too long for the hub's socket in it: name a directory with a path of less than {} bytes in \
         --state-dir or HUB_STATE_DIR",
        path.display(),
        LONGEST + 1
    )]
    TooLong {
        /// The state directory.
        path: PathBuf,
    },
    /// The token file does not contain a token.
    #[error("{} holds no token: remove it to make a new one", path.display())]
    BrokenToken {
        /// The token file.
        path: PathBuf,
    },
    /// The system has no random bytes for a token.
    #[error("no randomness for a token: {0}")]
    Random(#[from] getrandom::Error),
}

/// The longest path in bytes to which the name of the socket can be added: see unix(7), on macOS unix(4).
const LONGEST: usize = if cfg!(target_os = "macos") { 94 } else { 98 };

impl StateDir {
    /// Creates the directory if it does not exist, checks that it is private to this user, and locks it.
    pub fn open(path: &Path) -> Result<Self, StateDirError> {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
        if absolute.as_os_str().len() > LONGEST {
            return Err(StateDirError::TooLong { path: absolute });
        }
        let path = ensure_private_directory(path)?;
        let lock = lock(&path)?;
        Ok(Self { path, _lock: lock })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.path.join("hub.sock")
    }

    /// Returns the path of the spool, where `hubctl` stores notifications while the hub is down.
    pub fn spool(&self) -> PathBuf {
        self.path.join("spool")
    }

    /// Creates the directory of status files, if it does not exist.
    pub fn make_status(&self) -> Result<(), StateDirError> {
        ensure_private_directory(&self.path.join("status")).map(drop)
    }

    /// Returns the token. Creates it at the first start, reads and checks it later. Keeps `auth.header` up to date
    /// with it.
    pub fn token(&self) -> Result<Token, StateDirError> {
        let token = if let Some(token) = stored_token(&self.path)? {
            token
        } else {
            let token = Token::generate()?;
            let path = self.path.join("token");
            replace(&path, &format!("{}\n", token.expose()))?;
            token
        };
        let header = format!("Authorization: Bearer {}\n", token.expose());
        let path = self.path.join("auth.header");
        if read_private(&path)?.as_ref() != Some(&header) {
            replace(&path, &header)?;
        }
        Ok(token)
    }

    /// Returns the last notification that an earlier run may have delivered without an acknowledgement. `None` unless
    /// that run stopped by itself, because leases are in memory.
    pub fn offered(&self) -> io::Result<Option<Seq>> {
        match fs::read_to_string(self.path.join(STOPPED)) {
            Ok(text) => Ok(text.trim_ascii_end().parse().ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Durably records that a run has started: removes the file `stopped`.
    pub fn begin_run(&self) -> io::Result<()> {
        match fs::remove_file(self.path.join(STOPPED)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| durable::sync_dir(&self.path)),
        }
    }

    /// Durably records that the run stopped by itself, with the last notification that may have been delivered.
    pub fn end_run(&self, offered: Seq) -> io::Result<()> {
        let line = format!("{offered}\n");
        durable::replace(&self.path.join(STOPPED), &[line.as_bytes()])
    }
}

/// Reads the token in the state directory `dir` without changing anything; `None` if there is none yet.
pub fn stored_token(dir: &Path) -> Result<Option<Token>, StateDirError> {
    let path = dir.join("token");
    let Some(text) = read_private(&path)? else {
        return Ok(None);
    };
    let parsed = text.trim_ascii_end().parse();
    parsed
        .map(Some)
        .map_err(|_| StateDirError::BrokenToken { path })
}

/// Creates the directory `path` if it does not exist, checks that it belongs to this user, and sets its mode to 0700.
fn ensure_private_directory(path: &Path) -> Result<PathBuf, StateDirError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(io_error("create", path))?;
    // A trailing slash would follow a symbolic link despite `O_NOFOLLOW`.
    let path: PathBuf = path.components().collect();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::open(&path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::LOOP | Errno::NOTDIR => unsafe_path(&path, "is a symbolic link or no directory"),
        errno => io_error("open", &path)(errno.into()),
    })?;
    let stat = rustix::fs::fstat(&dir).map_err(|errno| io_error("stat", &path)(errno.into()))?;
    check(&path, &stat, 0o022)?;
    if mode(&stat) != 0o700 {
        rustix::fs::fchmod(&dir, Mode::RWXU)
            .map_err(|errno| io_error("chmod", &path)(errno.into()))?;
    }
    Ok(path)
}

/// Locks the directory. If another process holds the lock, the error names it.
fn lock(dir: &Path) -> Result<File, StateDirError> {
    let path = dir.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .mode(0o600)
        .custom_flags(NO_FOLLOW)
        .open(&path)
        .map_err(io_error("open", &path))?;
    // The mode at creation depends on the umask.
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| io_error("chmod", &path)(errno.into()))?;
    if let Err(errno) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if errno != Errno::WOULDBLOCK {
            return Err(io_error("lock", &path)(errno.into()));
        }
        let mut holder = String::new();
        let known = file.read_to_string(&mut holder).is_ok()
            && !holder.is_empty()
            && holder.trim_ascii_end().bytes().all(|b| b.is_ascii_digit());
        return Err(StateDirError::InUse {
            path: dir.into(),
            holder: if known {
                holder.trim_ascii_end().into()
            } else {
                "unknown".into()
            },
        });
    }
    let mut note = || {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    note().map_err(io_error("write", &path))?;
    Ok(file)
}

/// Reads the text of a private file; `None` if there is no such file. Refuses a symbolic link, and a file that another user
/// owns or may read.
pub fn read_private(path: &Path) -> Result<Option<String>, StateDirError> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(NO_FOLLOW)
        .open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(unsafe_path(path, "is a symbolic link"));
        }
        Err(error) => return Err(io_error("open", path)(error)),
    };
    let stat = rustix::fs::fstat(&file).map_err(|errno| io_error("stat", path)(errno.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(unsafe_path(path, "is no regular file"));
    }
    check(path, &stat, 0o077)?;
    let mut text = String::new();
    file.read_to_string(&mut text)
        .map_err(io_error("read", path))?;
    Ok(Some(text))
}

/// Replaces a private file durably and atomically.
fn replace(path: &Path, text: &str) -> Result<(), StateDirError> {
    durable::replace(path, &[text.as_bytes()]).map_err(io_error("write", path))
}

/// Refuses a file of another user, or one on which others have a `forbidden` permission.
fn check(path: &Path, stat: &Stat, forbidden: u32) -> Result<(), StateDirError> {
    let own = rustix::process::geteuid().as_raw();
    if stat.st_uid != own {
        let reason = format!("belongs to user {}, not to us ({own})", stat.st_uid);
        return Err(unsafe_path(path, reason));
    }
    if mode(stat) & forbidden != 0 {
        let reason = format!("is open to other users (mode {:04o})", mode(stat));
        return Err(unsafe_path(path, reason));
    }
    Ok(())
}

#[allow(clippy::unnecessary_cast)] // mode_t is 16 bits on macOS
fn mode(stat: &Stat) -> u32 {
    stat.st_mode as u32 & 0o7777
}

fn unsafe_path(path: &Path, reason: impl Into<String>) -> StateDirError {
    StateDirError::Unsafe {
        path: path.into(),
        reason: reason.into(),
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateDirError {
    let path = path.to_owned();
    move |source| StateDirError::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn permissions(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn the_token_is_created_once_and_kept() {
        let parent = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&parent.path().join("state")).unwrap();
        let token = dir.token().unwrap();
        assert!(dir.token().unwrap().matches(token.expose().as_bytes()));
        let header = std::fs::read_to_string(dir.path().join("auth.header")).unwrap();
        let expected = format!(
            "Authorization: Bearer {}
",
            token.expose()
        );
        assert_eq!(header, expected);
    }

    #[test]
    fn a_path_without_room_for_the_socket_is_refused_with_what_to_do() {
        let parent = tempfile::tempdir().unwrap();
        let room = LONGEST - parent.path().as_os_str().len() - 1;
        let open = |length| StateDir::open(&parent.path().join("d".repeat(length)));
        let dir = open(room).unwrap();
        std::os::unix::net::UnixListener::bind(dir.socket()).unwrap();
        let refused = open(room + 1).unwrap_err().to_string();
        assert!(refused.contains("HUB_STATE_DIR"), "{refused}");
    }

    #[test]
    fn a_directory_that_others_can_read_is_made_private() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::set_permissions(parent.path(), PermissionsExt::from_mode(0o755)).unwrap();
        StateDir::open(parent.path()).unwrap();
        assert_eq!(permissions(parent.path()), 0o700);
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let dir = StateDir::open(&parent.path().join("state")).unwrap();
        dir.token().unwrap();
        let path = dir.path().join("token");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(matches!(dir.token(), Err(StateDirError::Unsafe { .. })));
        let elsewhere = parent.path().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(matches!(dir.token(), Err(StateDirError::Unsafe { .. })));
    }
}
