//! What settings hold.

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

/// A number of things above 0.
pub type Positive = std::num::NonZeroU32;

/// What one hub serves at a time.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Open connections, on TCP and on the Unix socket each.
    pub connections: Positive,
    /// Of all connections, those that may wait.
    pub streams: Positive,
    /// Requests that queue for the writer.
    pub queue: Positive,
    /// Seconds until a request's header is complete.
    pub header_seconds: Positive,
    /// Seconds until a request's body is complete.
    pub body_seconds: Positive,
    /// Seconds that a reader may take nothing.
    pub write_seconds: Positive,
    /// Seconds that open requests have to end at shutdown.
    pub shutdown_seconds: Positive,
}

/// How often a waiter that belongs to an agent session is woken.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wake {
    /// By one sender, a minute.
    pub per_sender_per_minute: u32,
    /// In all, an hour.
    pub per_hour: u32,
}

/// What the log keeps.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// For how many days.
    pub days: Positive,
    /// How many bytes.
    pub max_bytes: u64,
}

/// When a snapshot is due.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// After as many records.
    pub every_records: u64,
    /// After as many bytes.
    pub every_bytes: u64,
}

/// What is logged, and how.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// A level, or a filter by module.
    pub level: String,
    /// The form of a line.
    pub format: LogFormat,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// What stores the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// On disk.
    Sled,
    /// Nowhere: it ends with the process.
    Memory,
}

impl Limits {
    /// How long a request's header may take.
    pub fn header_timeout(&self) -> Duration {
        seconds(self.header_seconds)
    }

    /// How long a request's body may take.
    pub fn body_timeout(&self) -> Duration {
        seconds(self.body_seconds)
    }

    /// How long a reader may take nothing.
    pub fn write_timeout(&self) -> Duration {
        seconds(self.write_seconds)
    }

    /// How long open requests have to end at shutdown.
    pub fn shutdown_timeout(&self) -> Duration {
        seconds(self.shutdown_seconds)
    }
}

fn seconds(number: Positive) -> Duration {
    Duration::from_secs(u64::from(number.get()))
}

/// A port on the loopback addresses, 0 for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Listen {
    /// The port.
    pub port: u16,
}

/// An address that is not on this machine's loopback, or none at all.
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
