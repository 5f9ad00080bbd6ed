//! Appends to the stream: exactly one message at the expected position, whatever happens to its acknowledgement.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_LAST_SEQUENCE, NATS_MESSAGE_ID};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use bytes::Bytes;
use hub_log::journal::JournalError;

use super::SharedLog;

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

impl SharedLog {
    /// Appends `frame` behind the message at `expected`, as the hub `node`. `Deposed`: another message is there, and this
    /// one is not stored. `Unsettled`: it may be stored.
    pub(super) async fn append(
        &self,
        node: &str,
        expected: u64,
        frame: Bytes,
    ) -> Result<(), JournalError> {
        tokio::select! {
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
            match self.attempt(&subject, (expected, &id), frame.clone()).await {
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

    async fn attempt(&self, subject: &str, (expected, id): (u64, &str), frame: Bytes) -> Attempt {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SEQUENCE, expected.to_string());
        headers.insert(NATS_MESSAGE_ID, id);
        let acknowledged = async {
            let context = self.context();
            let sent = context.publish_with_headers(subject.to_owned(), headers, frame);
            sent.await?.await
        };
        match acknowledged.await {
            Ok(ack) if ack.sequence == expected + 1 => Attempt::Stored,
            Ok(_) => Attempt::Refused,
            Err(error) => refusal(&error),
        }
    }
}

fn refusal(error: &PublishError) -> Attempt {
    if error.kind() == PublishErrorKind::WrongLastSequence {
        return Attempt::Refused;
    }
    tracing::debug!(%error, "an append was not acknowledged");
    Attempt::Unknown
}
