//! The Unix socket of a hub, and the check of the user that serves it.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use reqwest::Client;
use tokio::net::UnixStream;

use super::unreachable_io;
use crate::error::Error;

/// A Unix socket that is used only while a process of this user serves it. If its directory allows it, another user
/// could put a socket in its place while the hub is down.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    held: Mutex<Option<Held>>,
}

/// A socket whose owner and server have been checked.
#[derive(Debug)]
struct Held {
    /// The device and inode number of the socket.
    inode: (u64, u64),
    /// The client that is bound to this socket, even if another one is at its path by now.
    client: Client,
    /// Keeps the descriptor open, because the client connects by its number.
    _file: Option<File>,
}

impl Socket {
    /// Names the socket at `path`; it is checked at the first request.
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            held: Mutex::new(None),
        }
    }

    /// Returns a client for the hub that serves the socket now.
    pub(super) async fn client(&self) -> Result<Client, Error> {
        let meta = std::fs::metadata(&self.path).map_err(|error| unreachable_io(&error))?;
        let inode = (meta.dev(), meta.ino());
        if let Some(client) = self.known(inode) {
            return Ok(client);
        }
        let found = Held::of(&self.path).await?;
        let client = found.client.clone();
        *self.held() = Some(found);
        Ok(client)
    }

    fn known(&self, inode: (u64, u64)) -> Option<Client> {
        let held = self.held();
        let held = held.as_ref().filter(|held| held.inode == inode)?;
        Some(held.client.clone())
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    async fn of(path: &Path) -> Result<Self, Error> {
        let (file, held) = hold(path).map_err(|error| unreachable_io(&error))?;
        let meta = match &file {
            Some(file) => file.metadata(),
            None => std::fs::metadata(path),
        };
        let meta = meta.map_err(|error| unreachable_io(&error))?;
        demand_own(path, "belongs to", meta.uid())?;
        let probe = UnixStream::connect(&held).await;
        let probe = probe.map_err(|error| unreachable_io(&error))?;
        demand_own(path, "is served by", probe.peer_cred()?.uid())?;
        let client = super::client().unix_socket(held.as_path()).build();
        Ok(Self {
            inode: (meta.dev(), meta.ino()),
            client: client.map_err(anyhow::Error::from)?,
            _file: file,
        })
    }
}

/// Returns a path that leads to the socket at `path` even after another one has taken its place.
#[cfg(target_os = "linux")]
fn hold(path: &Path) -> std::io::Result<(Option<File>, PathBuf)> {
    use rustix::fs::{Mode, OFlags, open};
    use std::os::fd::AsRawFd as _;
    let file = File::from(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
    let held = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    // Without /proc, use the path itself.
    let held = if held.is_symlink() {
        held
    } else {
        path.to_owned()
    };
    Ok((Some(file), held))
}

#[cfg(not(target_os = "linux"))]
fn hold(path: &Path) -> std::io::Result<(Option<File>, PathBuf)> {
    Ok((None, path.to_owned()))
}

fn demand_own(path: &Path, how: &str, uid: u32) -> Result<(), Error> {
    if uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let path = path.display();
    Err(anyhow!("{path} {how} user {uid}, not you: refusing to use it").into())
}
