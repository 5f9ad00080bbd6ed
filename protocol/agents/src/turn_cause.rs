//! Who begins a turn. The log stores it.

use serde::{Deserialize, Serialize};

/// The cause of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnCause {
    /// The person typed a prompt.
    #[default]
    Person,
    /// A wake by the hub.
    Wake,
    /// A background task of the session ended.
    Task,
    /// Another session sent a message in the agent's own way.
    Peer,
    /// The timeout of the hub's own waiter.
    Timeout,
    /// The agent continued by itself.
    Agent,
}
