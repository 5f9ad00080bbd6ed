//! The types of settings.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

/// A number above 0.
pub type Positive = std::num::NonZeroU32;

/// Limits on connections, queues and times.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Open connections; this many on TCP and as many on the Unix socket.
    pub connections: Positive,
    /// Connections that may wait or stream at a time, out of all connections.
    pub streams: Positive,
    /// Capacity of the writer's queue, in requests.
    pub queue: Positive,
    /// Seconds within which a request's header must be complete.
    pub header_seconds: Positive,
    /// Seconds within which a request's body must be complete.
    pub body_seconds: Positive,
    /// Seconds after which a reader that reads nothing is disconnected.
    pub write_seconds: Positive,
    /// Seconds that open requests get to finish at shutdown.
    pub shutdown_seconds: Positive,
}

/// Wake limits of waiters that belong to an agent session.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WakeSettings {
    /// Wakes by one sender in a minute.
    pub per_sender_per_minute: u32,
    /// Wakes in an hour, by all senders.
    pub per_hour: u32,
    /// Seconds without a key after which the hub may paste into a tmux pane.
    pub pane_quiet_seconds: u32,
}

/// Limits of the log's age and size.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionSettings {
    /// Age in days above which records are dropped.
    pub days: Positive,
    /// Size in bytes above which the oldest records are dropped.
    pub max_bytes: u64,
}

/// The amount of log after which a snapshot is saved.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotSettings {
    /// Records since the last snapshot.
    pub every_records: u64,
    /// Bytes since the last snapshot.
    pub every_bytes: u64,
}

/// Settings of a hub in a cluster.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterSettings {
    /// The name of the cluster, the same on all of its hubs.
    pub name: String,
    /// The name of this hub in the cluster; if empty, the host name.
    pub node: String,
    /// The addresses of the NATS servers.
    pub urls: Vec<String>,
    /// The file with the NATS credentials or the nkey seed of this hub; may be empty.
    pub creds: PathBuf,
    /// The file with the certificate that signs those of the NATS servers; if empty, those of the system.
    pub ca: PathBuf,
    /// How many NATS servers keep the stream.
    pub replicas: Positive,
    /// Whether this hub may become the active one.
    pub lead: bool,
    /// The public nkeys of the hubs, by name: whose word about a caller counts.
    pub nodes: BTreeMap<String, String>,
}

/// Settings of the hub's own logs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// A level such as `info`, or a list of filters by module.
    pub level: String,
    /// The format of a line.
    pub format: LogFormat,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Readable text.
    Text,
    /// One JSON object a line.
    Json,
}

/// The storage backend of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// sled, on disk.
    Sled,
    /// Memory only: the log ends with the process.
    Memory,
    /// A stream of NATS, shared with the other hubs of a cluster, and a copy on disk.
    Jetstream,
}

impl Limits {
    /// Time within which a request's header must be complete.
    pub fn header_timeout(&self) -> Duration {
        seconds(self.header_seconds)
    }

    /// Time within which a request's body must be complete.
    pub fn body_timeout(&self) -> Duration {
        seconds(self.body_seconds)
    }

    /// Time after which a reader that reads nothing is disconnected.
    pub fn write_timeout(&self) -> Duration {
        seconds(self.write_seconds)
    }

    /// Time that open requests get to finish at shutdown.
    pub fn shutdown_timeout(&self) -> Duration {
        seconds(self.shutdown_seconds)
    }
}

impl WakeSettings {
    /// Time without a key after which the hub may paste into a tmux pane.
    pub fn pane_quiet(&self) -> Duration {
        Duration::from_secs(self.pane_quiet_seconds.into())
    }
}

fn seconds(number: Positive) -> Duration {
    Duration::from_secs(u64::from(number.get()))
}

/// The port to serve on the loopback addresses; 0 lets the system choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Listen {
    /// The port number.
    pub port: u16,
}

/// The error for an address that is not on the loopback, or cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot listen on '{0}' (expected 127.0.0.1:PORT, localhost:PORT or [::1]:PORT; the hub serves this machine only)"
)]
pub struct NotLoopback(String);

impl FromStr for Listen {
    type Err = NotLoopback;

    fn from_str(text: &str) -> Result<Self, NotLoopback> {
        let refused = || NotLoopback(text.into());
        let numeric = text.replacen("localhost", "127.0.0.1", 1);
        let address: SocketAddr = numeric.parse().map_err(|_| refused())?;
        match address.ip().to_string().as_str() {
            "127.0.0.1" | "::1" => Ok(Self {
                port: address.port(),
            }),
            _ => Err(refused()),
        }
    }
}

impl TryFrom<String> for Listen {
    type Error = NotLoopback;

    fn try_from(text: String) -> Result<Self, NotLoopback> {
        text.parse()
    }
}
