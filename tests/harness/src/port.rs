//! A loopback port that stays a server's while the server is stopped.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket, sockopt};

/// A port of 127.0.0.1 and `[::1]` for one server, which may stop and start again.
///
/// Bound sockets that do not listen keep it: with `SO_REUSEADDR` on both sides the server can bind it too, and the
/// system chooses it neither for another server nor for a connection. Only on Linux; on macOS such a socket keeps the
/// server away, so another server may get the port while this one is stopped.
#[derive(Debug, Clone)]
pub struct Port {
    number: u16,
    _kept: Arc<[OwnedFd]>,
}

impl Port {
    /// Returns a port that is free, and keeps it until it and its clones are dropped.
    #[expect(
        clippy::new_without_default,
        reason = "it takes a port from the system"
    )]
    pub fn new() -> Self {
        loop {
            let v4 = bound((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
            let address = getsockname(&v4).expect("an address");
            let number = SocketAddr::try_from(address).expect("an IP address").port();
            let mut kept = vec![v4];
            match bound((Ipv6Addr::LOCALHOST, number).into()) {
                Ok(v6) => kept.push(v6),
                Err(Errno::ADDRINUSE) => continue,
                // The system has no IPv6.
                Err(_) => {}
            }
            if !cfg!(target_os = "linux") {
                kept.clear();
            }
            return Self {
                number,
                _kept: kept.into(),
            };
        }
    }

    /// Returns its number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

fn bound(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    Ok(socket)
}
