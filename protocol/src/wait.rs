//! What a waiter gets.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{InboxName, Kind, Seq};

/// The answer to `GET /wait` that brings something.
#[derive(Debug, Serialize, Deserialize)]
pub struct WaitReply {
    /// The notifications, most important first, then oldest first; `redelivered` is added to one that was offered before.
    pub notifications: Vec<Box<RawValue>>,
    /// What acknowledges exactly these.
    pub lease: String,
    /// How many more are pending.
    pub remaining: u64,
    /// Why it ended now.
    pub why_woken: WhyWoken,
    /// What became of the barrier, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<BarrierReport>,
}

/// How a notification is brought to an agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// A waiter that the agent's own hooks started; its end wakes the session.
    Rewake,
    /// `hubctl wait` in the background of the session.
    Wait,
    /// Along with the answer to a hook.
    Hook,
}

/// Why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum WhyWoken {
    /// Something was pending already.
    Pending,
    /// This one came.
    Arrived {
        /// Its number.
        id: Seq,
        /// Who said it.
        from: InboxName,
        /// What it is.
        #[serde(rename = "type")]
        kind: Kind,
    },
    /// What a reader got and never acknowledged is offered again.
    Returned,
    /// The barrier is met.
    Barrier,
    /// The time is over, and something is pending behind the barrier.
    Timeout,
}

/// What became of a barrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarrierReport {
    /// Whether everything it waited for came.
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
