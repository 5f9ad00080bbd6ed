//! Why the hub rejects a request.

use super::command::Refusal;

/// Why the hub rejected a request. Nothing has changed, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Rejected {
    /// The fold refused the command.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The storage failed: it may or may not have been stored.
    #[error("the storage failed")]
    Storage,
    /// The writer's queue is full.
    #[error("the hub is busy")]
    Busy,
    /// This hub follows another one, or the storage did not confirm the commit: it may have been stored.
    #[error("no hub of the cluster is active here")]
    NoActiveHub,
    /// Too many waits and streams are open.
    #[error("too many waits and event streams are open")]
    TooManyStreams,
    /// The hub is shutting down.
    #[error("the hub is shutting down")]
    ShuttingDown,
}
