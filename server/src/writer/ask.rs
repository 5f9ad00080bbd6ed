//! What is asked of the writer, and what it answers.

use hub_protocol::{InboxTouched, Seq};
use tokio::sync::oneshot;

use crate::command::Command;
use crate::hub::Rejected;
use crate::presence::{Batch, Outcome, Presence, WaitSpec};
use crate::state::State;

/// Looks at what is committed and at who is there.
pub type Question = Box<dyn FnOnce(&State, &mut Presence) + Send>;

/// What is asked of the writer.
pub enum Ask {
    /// Change something.
    Command {
        /// What.
        command: Command,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Done, Rejected>>,
    },
    /// Wait for something.
    Wait {
        /// For what.
        spec: WaitSpec,
        /// Where the answer goes.
        reply: oneshot::Sender<Outcome>,
    },
    /// Take what is there for a session, beside whoever waits for it.
    Take {
        /// What is wanted.
        spec: WaitSpec,
        /// Where the answer goes.
        reply: oneshot::Sender<Option<Batch>>,
    },
    /// Look at something.
    Query(Question),
    /// Finish and end.
    Stop,
}

/// What a command did.
#[derive(Debug, Default)]
pub struct Done {
    /// Notifications it made, or made the first time.
    pub ids: Vec<Seq>,
    /// Whether it was done before.
    pub repeated: bool,
    /// Inboxes it put something into.
    pub inboxes: Vec<InboxTouched>,
    /// Waiters whose condition it met.
    pub woken: u32,
    /// Notifications that stopped being pending by it.
    pub settled: Vec<Seq>,
    /// What the sender may want to know.
    pub hint: Option<String>,
}
