//! The stream that all hubs of a cluster share: its settings, and reads from it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::{self, DiscardPolicy, Republish, Stream};
use async_nats::jetstream::{ErrorCode, message::StreamMessage};
use async_nats::{StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use hub_protocol::{Epoch, Seq};

use super::MAX_MESSAGE;
use crate::log::journal::SharedCommit;
use crate::log::journal::disk::frame::{self, Frame};

/// The version of the layout of the stream.
const FORMAT: &str = "1";
/// The keys of the stream's metadata.
const EPOCH_KEY: &str = "hub_epoch";
const FORMAT_KEY: &str = "hub_format";
/// The most messages and bytes that one read returns.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 4 << 20;
/// The time that the server may take for the next message of a read.
const SILENCE: Duration = Duration::from_secs(2);

/// Why the stream could not be used.
#[derive(Debug, thiserror::Error)]
pub enum SharedLogError {
    /// NATS did not answer, or not yet.
    #[error("NATS: {0}")]
    Unavailable(String),
    /// The cluster has no stream.
    #[error("the stream {0} does not exist")]
    Missing(String),
    /// The stream is not the log of this hub, or of no hub.
    #[error("the stream {stream} {reason}")]
    Foreign {
        /// The name of the stream.
        stream: String,
        /// The difference.
        reason: String,
    },
    /// NATS lost messages that a copy has.
    #[error("the stream ends before record {head}, which is stored here: NATS lost its end")]
    Behind {
        /// The head of the copy.
        head: Seq,
    },
    /// The copy has records that the stream does not have.
    #[error(
        "record {head} of this hub is not in the stream: its state directory is of another log"
    )]
    Forked {
        /// The head of the copy.
        head: Seq,
    },
    /// A message in the middle is missing or damaged.
    #[error("NATS lost message {0} of the stream")]
    Hole(u64),
}

impl SharedLogError {
    /// Whether a retry cannot help.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::Unavailable(_) | Self::Missing(_))
    }
}

fn unavailable(error: impl std::fmt::Display) -> SharedLogError {
    SharedLogError::Unavailable(error.to_string())
}

/// The stream of one cluster.
pub struct SharedLog {
    context: Context,
    stream: String,
    subject: String,
    live: String,
    /// Makes the ids of this process's messages unique.
    run: String,
    sent: AtomicU64,
}

impl SharedLog {
    /// The stream of the cluster `name`; `run` must be unique to this process.
    pub fn new(context: Context, name: &str, run: &str) -> Self {
        Self {
            context,
            stream: format!("HUB_{name}"),
            subject: format!("hub.{name}.log"),
            live: format!("hub.{name}.live"),
            run: run.into(),
            sent: AtomicU64::new(0),
        }
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns a new message id. It is never used for another content, so that NATS never takes one message for another.
    pub(super) fn next_message_id(&self) -> String {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.run)
    }

    /// Creates the stream of a new log with this epoch. If the stream exists, its settings stay as they are.
    pub async fn create(&self, epoch: Epoch, replicas: usize) -> Result<(), SharedLogError> {
        let metadata = [
            (EPOCH_KEY, epoch.to_string()),
            (FORMAT_KEY, FORMAT.to_owned()),
        ];
        let config = stream::Config {
            name: self.stream.clone(),
            subjects: vec![self.subject.clone()],
            republish: Some(Republish {
                source: self.subject.clone(),
                destination: self.live.clone(),
                headers_only: false,
            }),
            num_replicas: replicas,
            discard: DiscardPolicy::New,
            allow_direct: true,
            deny_delete: true,
            max_message_size: i32::try_from(MAX_MESSAGE).unwrap_or(i32::MAX),
            max_messages: -1,
            max_bytes: -1,
            max_messages_per_subject: -1,
            max_consumers: -1,
            metadata: metadata.map(|(key, value)| (key.to_owned(), value)).into(),
            ..stream::Config::default()
        };
        match self.context.create_stream(config).await {
            Ok(_) => Ok(()),
            // Another hub may have created it first.
            Err(error) => match self.epoch().await {
                Err(SharedLogError::Missing(_)) => Err(unavailable(error)),
                found => found.map(drop),
            },
        }
    }

    /// Returns the epoch of the log in the stream.
    pub async fn epoch(&self) -> Result<Epoch, SharedLogError> {
        let stream = self.stream().await?;
        let metadata: &HashMap<String, String> = &stream.cached_info().config.metadata;
        let format = metadata.get(FORMAT_KEY).map(String::as_str);
        let epoch = metadata.get(EPOCH_KEY).and_then(|it| it.parse().ok());
        let foreign = |reason: String| SharedLogError::Foreign {
            stream: self.stream.clone(),
            reason,
        };
        match (format, epoch) {
            (Some(FORMAT), Some(epoch)) => Ok(epoch),
            (Some(format), Some(_)) => Err(foreign(format!(
                "has format {format}, and this hubd reads {FORMAT}: install a newer one"
            ))),
            _ => Err(foreign("was not made by a hub".into())),
        }
    }

    async fn stream(&self) -> Result<Stream, SharedLogError> {
        self.context
            .get_stream(&self.stream)
            .await
            .map_err(|error| match error.kind() {
                GetStreamErrorKind::JetStream(cause)
                    if cause.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    SharedLogError::Missing(self.stream.clone())
                }
                _ => unavailable(error),
            })
    }

    /// Returns the position of the last message, as the stream's leader knows it.
    pub async fn last(&self) -> Result<u64, SharedLogError> {
        Ok(self.stream().await?.cached_info().state.last_sequence)
    }

    /// Subscribes to new messages as they are stored. Some may be missed, see [`position_of`].
    pub async fn subscribe(&self) -> Result<Subscriber, SharedLogError> {
        let client = self.context.client();
        client
            .subscribe(self.live.clone())
            .await
            .map_err(unavailable)
    }

    /// Returns the id of the message at `position`, as the stream's leader knows it.
    pub(super) async fn message_id(&self, position: u64) -> Result<Option<String>, SharedLogError> {
        let message = self.get(position).await?;
        let id = |it: StreamMessage| Some(it.headers.get(NATS_MESSAGE_ID)?.as_str().to_owned());
        Ok(message.and_then(id))
    }

    /// Returns the message at `position` from the stream's leader.
    async fn get(&self, position: u64) -> Result<Option<StreamMessage>, SharedLogError> {
        let stream = self
            .context
            .get_stream_no_info(&self.stream)
            .await
            .map_err(unavailable)?;
        match stream.get_raw_message(position).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => {
                Ok(None)
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn frame(&self, position: u64) -> Result<Frame, SharedLogError> {
        let message = self.get(position).await?;
        let decoded = message.and_then(|it| frame::decode(&it.payload));
        decoded
            .map(|(frame, _)| frame)
            .ok_or(SharedLogError::Hole(position))
    }

    /// Returns the position of the commit that ends with record `head`, after which the chain is `chain`. Bisects the
    /// stream.
    pub(super) async fn locate(
        &self,
        epoch: Epoch,
        head: Seq,
        chain: u32,
    ) -> Result<u64, SharedLogError> {
        let found = self.epoch().await?;
        if found != epoch {
            let reason = format!("is the log {found}, and this hub's is {epoch}");
            let stream = self.stream.clone();
            return Err(SharedLogError::Foreign { stream, reason });
        }
        if head == 0 {
            return Ok(0);
        }
        let state = self.stream().await?.cached_info().state.clone();
        let (mut low, mut high) = (state.first_sequence.max(1), state.last_sequence + 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.frame(middle).await?.last() < head {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low > state.last_sequence {
            return Err(SharedLogError::Behind { head });
        }
        let frame = self.frame(low).await?;
        if (frame.last(), frame.chain_after) != (head, chain) {
            return Err(SharedLogError::Forked { head });
        }
        Ok(low)
    }

    /// Returns some messages from `from` on, in order; none if the server that answered has no later one yet.
    pub async fn read(&self, from: u64) -> Result<Vec<SharedCommit>, SharedLogError> {
        let client = self.context.client();
        let inbox = client.new_inbox();
        let mut replies = client.subscribe(inbox.clone()).await.map_err(unavailable)?;
        let request = format!(r#"{{"seq":{from},"batch":{BATCH},"max_bytes":{BATCH_BYTES}}}"#);
        let subject = format!("$JS.API.DIRECT.GET.{}", self.stream);
        let sent = client.publish_with_reply(subject, inbox, request.into());
        sent.await.map_err(unavailable)?;
        let mut commits: Vec<SharedCommit> = Vec::new();
        loop {
            let reply = tokio::time::timeout(SILENCE, replies.next()).await;
            let Some(reply) = reply.map_err(unavailable)? else {
                return Err(unavailable("the connection was closed"));
            };
            if let Some(status) = reply.status {
                return match status.as_u16() {
                    // The end of the batch, and no message found.
                    204 | 404 => Ok(commits),
                    _ if status == StatusCode::NO_RESPONDERS => {
                        Err(unavailable("no stream leader"))
                    }
                    other => Err(unavailable(format_args!("status {other}"))),
                };
            }
            let expected = from + commits.len() as u64;
            match position_of(&reply) {
                Some(position) if position == expected => commits.push(SharedCommit {
                    position,
                    frame: Bytes::clone(&reply.payload),
                }),
                _ => return Err(SharedLogError::Hole(expected)),
            }
        }
    }
}

/// Returns the position of a message that the server sent from the stream.
pub fn position_of(message: &async_nats::Message) -> Option<u64> {
    let headers = message.headers.as_ref()?;
    headers.get("Nats-Sequence")?.as_str().parse().ok()
}
