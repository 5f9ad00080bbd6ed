//! The answers of the API to waiters.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{InboxName, Kind, Seq};

/// The answer to `GET /wait` with notifications.
#[derive(Debug, Serialize, Deserialize)]
pub struct WaitReply {
    /// The notifications, most important first, then oldest first. `redelivered` is added to one that was offered
    /// before.
    pub notifications: Vec<Box<RawValue>>,
    /// The lease token: acknowledging with it acknowledges exactly these notifications.
    pub lease: String,
    /// How many more notifications are pending in the inboxes.
    pub remaining: u64,
    /// Why the wait ended.
    pub why_woken: WhyWoken,
    /// The state of the barrier, if the request had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<BarrierReport>,
}

/// How a notification reaches an agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// A waiter that the agent's own hooks started; its exit wakes the session.
    Rewake,
    /// `hubctl wait` in the background of the session.
    Wait,
    /// In the answer to a hook.
    Hook,
}

/// Why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum WhyWoken {
    /// A notification was pending already.
    Pending,
    /// This notification arrived.
    Arrived {
        /// The notification's id.
        id: Seq,
        /// The sender.
        from: InboxName,
        /// The type.
        #[serde(rename = "type")]
        kind: Kind,
    },
    /// A notification is offered again, because its reader did not acknowledge it.
    Returned,
    /// The barrier was met.
    Barrier,
    /// The wait timed out, and a notification is pending behind the barrier.
    Timeout,
}

/// The state of a barrier at the end of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarrierReport {
    /// Whether the barrier was met.
    pub met: bool,
    /// The sessions that have not finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<InboxName>,
}

/// The answer to an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acked {
    /// The notifications that were pending until now.
    pub acked: Vec<Seq>,
}
