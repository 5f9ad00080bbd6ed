//! Sockets: who may connect, how many at a time, and for how long.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::config::{Limits, Listen};
use crate::guard::Guarded;
use crate::state_dir::StateDir;
use connection::Server;
use slots::Slots;

mod accept;
mod body;
mod connection;
mod descriptors;
mod io_guard;
mod slots;
mod stream;

/// How a request came; an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Over the Unix socket, by a process of our own user.
    Unix,
    /// Over TCP, by anybody on this machine.
    Tcp {
        /// The port that it came to.
        local_port: u16,
    },
}

/// The hub's sockets, bound but not yet served.
#[derive(Debug)]
pub struct Sockets {
    port: u16,
    tcp: Vec<TcpListener>,
    unix: UnixListener,
    path: PathBuf,
}

/// Why the hub cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is not to be had.
    #[error("cannot listen on {address}: {source}")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The Unix socket is not to be had.
    #[error("cannot listen on {}: {source}", path.display())]
    Unix {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// How often a free port is looked for that is free on both loopback addresses.
const TRIES: u32 = 16;

/// Connections that may wait to be accepted: as many readers may come back at once after a restart.
const BACKLOG: i32 = 4096;

impl Sockets {
    /// Binds 127.0.0.1 and, where there is IPv6, `[::1]` on one port, and the socket of a directory that we hold.
    pub fn bind(listen: Listen, dir: &StateDir) -> Result<Self, BindError> {
        let path = dir.socket();
        let unix = bind_unix(&path).map_err(|source| BindError::Unix {
            path: path.clone(),
            source,
        })?;
        let (port, tcp) = bind_tcp(listen.port)?;
        Ok(Self {
            port,
            tcp,
            unix,
            path,
        })
    }

    /// The port that was bound.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves `app` until `shutdown`, then lets open requests end, and returns. Streams must end by themselves at
    /// `shutdown`; what is open after the limit is cut.
    pub async fn serve(
        self,
        app: Guarded,
        limits: &Limits,
        shutdown: CancellationToken,
    ) -> io::Result<()> {
        descriptors::raise(limits);
        let server = Arc::new(Server::new(app, limits, shutdown.clone()));
        let connections = &server.connections;
        let tcp = Slots::new(limits.connections);
        for listener in self.tcp {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            connections.spawn(accept::run(listener, tcp.clone(), server.clone()));
        }
        self.unix.set_nonblocking(true)?;
        let listener = tokio::net::UnixListener::from_std(self.unix)?;
        let unix = Slots::new(limits.connections);
        connections.spawn(accept::run(listener, unix, server.clone()));

        shutdown.cancelled().await;
        connections.close();
        if tokio::time::timeout(limits.shutdown_timeout(), connections.wait())
            .await
            .is_err()
        {
            tracing::warn!(open = connections.len(), "cutting open connections");
            server.cut.cancel();
            connections.wait().await;
        }
        let _ = std::fs::remove_file(&self.path);
        Ok(())
    }
}

fn bind_tcp(port: u16) -> Result<(u16, Vec<TcpListener>), BindError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let v4 = bind_one((Ipv4Addr::LOCALHOST, port).into())?;
        let bound = v4.local_addr().map_or(port, |address| address.port());
        match bind_one((Ipv6Addr::LOCALHOST, bound).into()) {
            Ok(v6) => return Ok((bound, vec![v4, v6])),
            Err(BindError::Tcp { source, .. }) if no_ipv6(&source) => return Ok((bound, vec![v4])),
            Err(_) if port == 0 && tries < TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

fn bind_one(address: SocketAddr) -> Result<TcpListener, BindError> {
    let bind = || {
        let listener = TcpListener::bind(address)?;
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(listener)
    };
    bind().map_err(|source| BindError::Tcp { address, source })
}

fn no_ipv6(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

/// Binds the Unix socket; one that a dead hub left is replaced.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    if let Ok(meta) = path.symlink_metadata()
        && meta.file_type().is_socket()
    {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    rustix::net::listen(&listener, BACKLOG)?;
    // Until here the directory keeps others out.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests;
