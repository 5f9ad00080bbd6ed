//! The hub's sockets: binding, limits on connections, and timeouts.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hub_config::state_dir::StateDir;
use hub_config::{Limits, Listen};
use tokio_util::sync::CancellationToken;

use crate::guard::Guarded;
use connection::Server;
pub use inherited::Inherited;
use slots::ConnectionSlots;

mod accept;
mod body;
mod connection;
mod descriptors;
mod head_scanner;
mod inherited;
mod io_guard;
mod port_holder;
mod slots;
mod stream;

/// The hub's sockets, bound but not yet served.
#[derive(Debug)]
pub struct Sockets {
    port: u16,
    tcp: Vec<TcpListener>,
    unix: UnixListener,
    /// The Unix socket's path, unless a service manager listens there.
    own_path: Option<PathBuf>,
}

/// Why the hub cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another program listens on the address.
    #[error(
        "{address} is in use by {holder}: choose another port with --listen 127.0.0.1:PORT (0 picks a free one)"
    )]
    InUse {
        /// The requested address.
        address: SocketAddr,
        /// The program that listens there, as far as the system reports it.
        holder: String,
    },
    /// Binding the TCP address failed.
    #[error("cannot listen on {address}")]
    Tcp {
        /// The requested address.
        address: SocketAddr,
        /// The I/O error.
        source: io::Error,
    },
    /// Binding the Unix socket failed.
    #[error("cannot listen on {}", path.display())]
    Unix {
        /// The socket's path.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
}

/// Attempts to find a port that is free on both loopback addresses.
const TRIES: u32 = 16;

/// Queue of connections to accept, because many readers may reconnect at once after a restart.
const BACKLOG: i32 = 4096;

impl Sockets {
    /// Binds 127.0.0.1 and, if there is IPv6, `[::1]` on one port, and the Unix socket in a directory that this hub has
    /// locked. Uses `inherited` sockets in their place.
    pub fn bind(listen: Listen, dir: &StateDir, inherited: Inherited) -> Result<Self, BindError> {
        let path = dir.socket();
        let (unix, own_path) = match inherited.unix {
            Some(unix) => (unix, None),
            None => match bind_unix(&path) {
                Ok(unix) => (unix, Some(path)),
                Err(source) => return Err(BindError::Unix { path, source }),
            },
        };
        let passed = inherited.tcp.first().and_then(|it| it.local_addr().ok());
        let (port, tcp) = match passed {
            Some(address) => (address.port(), inherited.tcp),
            None => bind_tcp(listen.port)?,
        };
        Ok(Self {
            port,
            tcp,
            unix,
            own_path,
        })
    }

    /// The bound port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves `app` until `shutdown`, then lets open requests finish. Streams must end by themselves at `shutdown`;
    /// connections that are still open after the limit are cut.
    pub async fn serve(
        self,
        app: Guarded,
        limits: &Limits,
        shutdown: CancellationToken,
    ) -> io::Result<()> {
        descriptors::raise(limits);
        let server = Arc::new(Server::new(app, limits, shutdown.clone()));
        let connections = &server.connections;
        let cut = CancellationToken::new();
        let tcp = ConnectionSlots::new(limits.connections, cut.clone());
        for listener in self.tcp {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            connections.spawn(accept::run(listener, tcp.clone(), server.clone()));
        }
        self.unix.set_nonblocking(true)?;
        let listener = tokio::net::UnixListener::from_std(self.unix)?;
        let unix = ConnectionSlots::new(limits.connections, cut.clone());
        connections.spawn(accept::run(listener, unix, server.clone()));

        shutdown.cancelled().await;
        connections.close();
        if tokio::time::timeout(limits.shutdown_timeout(), connections.wait())
            .await
            .is_err()
        {
            tracing::warn!(open = connections.len(), "cutting open connections");
            cut.cancel();
            connections.wait().await;
        }
        if let Some(path) = &self.own_path {
            let _ = std::fs::remove_file(path);
        }
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
    let bind = || -> io::Result<TcpListener> {
        let listener = TcpListener::bind(address)?;
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(listener)
    };
    bind().map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse {
            address,
            holder: port_holder::of_address(address),
        },
        _ => BindError::Tcp { address, source },
    })
}

fn no_ipv6(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

/// Binds the Unix socket, replacing one that a dead hub left.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    if let Ok(meta) = path.symlink_metadata()
        && meta.file_type().is_socket()
    {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    rustix::net::listen(&listener, BACKLOG)?;
    // Until here, the permissions of the directory keep other users out.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests;
