//! The client's end of a connection.

use std::net::SocketAddr;

pub(crate) mod owner;
pub(crate) mod socket_table;

/// The client's end of a connection; an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Over the Unix socket, from a process of the hub's own user.
    Unix {
        /// The process that connected, if the system reports it.
        pid: Option<u32>,
    },
    /// Over TCP, from any program on this machine.
    Tcp {
        /// The hub's address of the connection.
        local: SocketAddr,
        /// The client's address.
        remote: SocketAddr,
    },
}
