//! Requests to the writer, and its answers.

use hub_core::command::Command;
use hub_core::rejected::Rejected;
use hub_core::waiters::lease_token::Claim;
use hub_core::waiters::{Batch, Held, Outcome, WaitSpec};
use hub_log::journal::{JournalError, SharedCommit};
use hub_protocol::{InboxTouched, Seq};
use tokio::sync::oneshot;

/// A request to the writer.
pub enum Ask {
    /// Carry out a command.
    Command {
        /// The command.
        command: Command,
        /// Receives the outcome, once it is durable.
        reply: oneshot::Sender<Result<Done, Rejected>>,
    },
    /// Wait for notifications.
    Wait {
        /// The conditions of the wait.
        spec: Box<WaitSpec>,
        /// Receives the outcome of the wait.
        reply: oneshot::Sender<Outcome>,
    },
    /// Lease the notifications that are available for a session, without affecting the session's waiter.
    Take {
        /// The inboxes and the filter to take from.
        spec: Box<WaitSpec>,
        /// Receives the batch, or `None` if no notification is available.
        reply: oneshot::Sender<Option<Batch>>,
    },
    /// Offer leased notifications again.
    GiveBack {
        /// The part of a lease that was not acknowledged.
        claim: Claim,
        /// Is answered when they are offered.
        done: oneshot::Sender<()>,
    },
    /// Become the active hub of the cluster, by this command.
    Lead {
        /// The command, [`Command::Lead`].
        command: Command,
        /// Receives the outcome, once it is durable.
        reply: oneshot::Sender<Result<Done, Rejected>>,
    },
    /// Stop being the active hub of the cluster, and end all waits.
    StepDown(oneshot::Sender<()>),
    /// Store commits of the active hub of the cluster.
    Follow {
        /// The commits, in order.
        commits: Vec<SharedCommit>,
        /// Receives the outcome.
        done: oneshot::Sender<Result<(), JournalError>>,
    },
    /// Answer, to show that the writer works.
    Ping(oneshot::Sender<()>),
    /// Finish the queued requests and end the thread.
    Stop,
}

/// The result of a command.
#[derive(Debug, Default)]
pub struct Done {
    /// The notifications that the command made, or that its first run made.
    pub ids: Vec<Seq>,
    /// Whether the request was carried out before under the same Idempotency-Key.
    pub repeated: bool,
    /// The record of the person's marks that it made.
    pub marked: Option<Seq>,
    /// The inboxes that its notifications reached.
    pub inboxes: Vec<InboxTouched>,
    /// The number of waiters whose condition it met.
    pub woken: u32,
    /// The notifications that stopped being pending.
    pub settled: Vec<Seq>,
    /// A hint for the sender, such as why its notification wakes nobody.
    pub hint: Option<String>,
    /// Whether the session to register, or the listener to add or to remove, existed before.
    pub existed: bool,
    /// Keeps a hook's request held until it is dropped.
    pub held: Option<Held>,
}
