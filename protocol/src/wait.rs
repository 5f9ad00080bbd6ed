//! The answers of the API to waiters.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{InboxName, Kind, Seq};

/// The answer to `GET /wait` with notifications.
#[derive(Default, Debug, Serialize, Deserialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barrier: Option<BarrierReport>,
    /// For `way=module`: the prompt that the person sees. The hook that reports the prompt delivers the notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// The first words of every prompt by which the hub wakes a session of Claude Code.
pub const WAKE_MARK: &str = "Notifications from the hub";

/// The collapse key of a notification that only tests whether it wakes a session.
pub const WAKE_TEST_KEY: &str = "hub:wake-test";

/// The name of the file that a session of Claude Code watches for the hub.
pub const WAKE_FILE: &str = "hub-inbox";

crate::named! {
    /// How a notification reaches an agent's session.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Way {
        /// A module within the agent, which submits a prompt.
        Module = "module",
        /// A waiter that the agent's own hooks started; its exit wakes the session.
        Rewake = "rewake",
        /// A file that the agent watches for the hub; its change runs a hook that wakes the session.
        FileChanged = "file_changed",
        /// A message to the socket on which the agent takes messages of other sessions.
        Socket = "socket",
        /// A turn that the hub starts through the agent's own server.
        AppServer = "app_server",
        /// `hubctl wait` in the background of the session.
        Wait = "wait",
        /// A line that the hub pastes into the session's tmux pane.
        Pane = "pane",
        /// In the answer to a hook.
        Hook = "hook",
    }
}

impl Way {
    /// Whether it only submits a prompt that announces the notifications. The answer to the hook of that prompt
    /// delivers them.
    pub fn announces(self) -> bool {
        matches!(
            self,
            Self::Module | Self::FileChanged | Self::Socket | Self::Pane
        )
    }

    /// Whether the hub itself waits in the session's place, because the session has no waiter.
    pub fn is_pushed(self) -> bool {
        matches!(
            self,
            Self::FileChanged | Self::Socket | Self::AppServer | Self::Pane
        )
    }
}

/// Why a wait ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A reason that this version does not know. A newer hub may send it; the hub of this version never does.
    #[default]
    #[serde(other)]
    Other,
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

/// The body of an acknowledgement, `POST /inboxes/{inbox}/ack`: a lease, ids, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckRequest {
    /// The lease token of a batch. With `ids`, only those are acknowledged, and the others are offered again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// The notifications to acknowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<Seq>>,
    /// The name of the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The answer to an acknowledgement.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acked {
    /// The notifications that were pending until now.
    pub acked: Vec<Seq>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_read_as_it_was_written_and_a_newer_one_is_other() {
        let (from, kind) = (InboxName::primary(), Kind::Error);
        for reason in [
            WhyWoken::Pending,
            WhyWoken::Arrived { id: 7, from, kind },
            WhyWoken::Returned,
            WhyWoken::Barrier,
            WhyWoken::Timeout,
        ] {
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(serde_json::from_str::<WhyWoken>(&json).unwrap(), reason);
        }
        let newer: WhyWoken = serde_json::from_str(r#"{"reason":"moon","phase":1}"#).unwrap();
        assert_eq!(newer, WhyWoken::Other);
    }
}
