//! The client's end of a connection.

use std::net::SocketAddr;

use hub_protocol::process::started;
use serde::{Deserialize, Serialize};

pub(crate) mod owner;
pub(crate) mod socket_table;

/// The client's end of a connection; an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
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
    /// A client of another hub of the cluster, which has admitted the request.
    Relayed {
        /// Whether a dashboard session made it.
        dashboard: bool,
        /// The kind of caller.
        kind: CallerKind,
    },
}

impl Peer {
    /// Whether the process that connected has ended.
    pub(crate) fn is_gone(self) -> bool {
        matches!(self, Self::Unix { pid: Some(pid) } if started(pid).is_none())
    }
}

/// The kind of caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallerKind {
    /// A dashboard session, or a process that no agent started.
    Person,
    /// A process that an agent's own process started, such as an MCP server. The commands of a model run in a shell.
    AgentsChild,
    /// An agent, or a process that an agent started.
    Agent,
    /// A holder of the token over TCP, or a process that cannot be inspected.
    Unknown,
}

impl CallerKind {
    /// Whether an agent made the request, or something that it started.
    pub fn is_agents(self) -> bool {
        matches!(self, Self::Agent | Self::AgentsChild)
    }
}
