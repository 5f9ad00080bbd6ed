//! Appends to the stream: exactly one message at the expected position, whatever happens to its acknowledgement.

use std::time::Duration;

use bytes::Bytes;
use hub_log::journal::JournalError;
use tokio::time::Instant;

use super::SharedLog;
use crate::nats::Nats;

/// How long an append is retried: NATS elects a new leader within 10 s.
const PATIENCE: Duration = Duration::from_secs(12);
/// How long it is retried once the hub stops.
const LAST: Duration = Duration::from_secs(1);
/// The pause between two attempts.
const RETRY: Duration = Duration::from_millis(100);

/// The outcome of one attempt.
enum Attempt {
    Stored,
    /// The stream has another end than expected.
    Refused,
    /// No answer, or none that decides it.
    Unknown,
}

impl<N: Nats> SharedLog<N> {
    /// Appends `frame` behind the message at `expected`, as the hub `node`. `Deposed`: another message is there, and this
    /// one is not stored. `Unsettled`: it may be stored.
    pub(super) async fn append(
        &self,
        node: &str,
        expected: u64,
        frame: Bytes,
    ) -> Result<(), JournalError> {
        tokio::select! {
            biased;
            settled = self.settle(node, expected, frame) => settled,
            () = self.last_moment() => Err(JournalError::Unsettled),
        }
    }

    /// Ends the appends that have no answer in a moment, because the hub stops.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    async fn last_moment(&self) {
        self.stopping.cancelled().await;
        tokio::time::sleep(LAST).await;
    }

    async fn settle(&self, node: &str, expected: u64, frame: Bytes) -> Result<(), JournalError> {
        let subject = self.subject(node);
        let id = self.next_message_id();
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match self.attempt(&subject, expected, &id, frame.clone()).await {
                Attempt::Stored => return Ok(()),
                // An earlier attempt may have been stored without an answer, so the message there decides.
                Attempt::Refused => match self.message_id(expected + 1).await {
                    Ok(Some(found)) if found == id => return Ok(()),
                    Ok(Some(_)) => return Err(JournalError::Deposed),
                    Ok(None) | Err(_) => {}
                },
                Attempt::Unknown => {}
            }
            tokio::time::sleep(RETRY).await;
        }
        Err(JournalError::Unsettled)
    }

    async fn attempt(&self, subject: &str, expected: u64, id: &str, frame: Bytes) -> Attempt {
        let appended = self.nats.append(subject.to_owned(), expected, id, frame);
        match appended.await {
            Ok(Some(position)) if position == expected + 1 => Attempt::Stored,
            Ok(_) => Attempt::Refused,
            Err(error) => {
                tracing::debug!(%error, "an append was not acknowledged");
                Attempt::Unknown
            }
        }
    }
}
