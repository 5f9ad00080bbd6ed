//! The stream that all hubs of a cluster share, and reads from it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::StatusCode;
use async_nats::header::NATS_MESSAGE_ID;
use futures_util::StreamExt as _;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::disk::frame::{self, Frame};
use hub_log::journal::{Journal as _, SharedCommit};
use hub_protocol::{Epoch, Seq};
use tokio_util::sync::CancellationToken;

use super::LogEnd;
use crate::nats::{JetStream, Nats, Outgoing, StoredMessage, StreamInfo, StreamState};

mod admin;

/// The version of the layout of the stream.
const FORMAT: &str = "1";
/// The keys of the stream's metadata.
const EPOCH_KEY: &str = "hub_epoch";
const FORMAT_KEY: &str = "hub_format";
const MOVED_KEY: &str = "hub_moved_to";
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
    /// NATS is one server alone, and the stream shall be on several.
    #[error("this NATS server is alone, and cannot replicate the log: set cluster.replicas = 1")]
    OneServer,
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
    /// A hub left the cluster with the log.
    #[error("the log was moved to the machine '{node}' by `hubd cluster leave`")]
    Closed {
        /// The epoch of the log.
        epoch: Epoch,
        /// The hub that has the log now.
        node: String,
    },
    /// The copy ends before the oldest commit in the stream.
    #[error(
        "this hub was away for so long that the next record, {0}, is not in NATS any more: restart it, and it copies the log anew"
    )]
    TooOld(Seq),
    /// NATS lost messages that a copy has.
    #[error(
        "the stream ends before record {head}, which is stored here: NATS lost its end; see `hubd cluster restore --help`"
    )]
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
    /// The message was dropped with the beginning of the log.
    #[error("message {0} of the stream was dropped")]
    Dropped(u64),
}

impl SharedLogError {
    /// Whether a retry cannot help.
    pub fn is_lasting(&self) -> bool {
        !matches!(
            self,
            Self::Unavailable(_) | Self::Missing(_) | Self::Dropped(_)
        )
    }
}

pub(crate) fn unavailable(error: impl std::fmt::Display) -> SharedLogError {
    SharedLogError::Unavailable(error.to_string())
}

/// The stream of one cluster. Each hub publishes under a subject of its own, which NATS allows to that hub only, so the
/// subject of a commit tells who appended it.
pub struct SharedLog<N = JetStream> {
    pub(super) nats: N,
    stream: String,
    /// `hub.NAME`, the begin of all subjects.
    prefix: String,
    node: String,
    /// Makes the ids of this process's messages unique.
    run: String,
    sent: AtomicU64,
    pub(super) stopping: CancellationToken,
}

impl<N: Nats> SharedLog<N> {
    /// The stream of the cluster `name`, to which this hub appends as `node`; `run` must be unique to this process.
    pub fn new(nats: N, name: &str, node: &str, run: &str) -> Self {
        Self {
            nats,
            stream: format!("HUB_{name}"),
            prefix: format!("hub.{name}"),
            node: node.into(),
            run: run.into(),
            sent: AtomicU64::new(0),
            stopping: CancellationToken::new(),
        }
    }

    /// Returns the name of this hub.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the subject under which `node` appends.
    pub(super) fn subject(&self, node: &str) -> String {
        format!("{}.log.{node}", self.prefix)
    }

    /// Returns a new message id. It is never used for another content, so that NATS never takes one message for another.
    pub(super) fn next_message_id(&self) -> String {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.run)
    }
}

impl<N: Nats> SharedLog<N> {
    /// The subject on which NATS publishes what it has stored.
    fn live(&self) -> String {
        format!("{}.live.*", self.prefix)
    }

    /// Returns the epoch of the log in the stream.
    pub async fn epoch(&self) -> Result<Epoch, SharedLogError> {
        let StreamInfo { metadata, .. } = self.nats.stream(&self.stream).await?;
        let format = metadata.get(FORMAT_KEY).map(String::as_str);
        let epoch = metadata.get(EPOCH_KEY).and_then(|it| it.parse().ok());
        let foreign = |reason: String| SharedLogError::Foreign {
            stream: self.stream.clone(),
            reason,
        };
        match (format, epoch, metadata.get(MOVED_KEY)) {
            (Some(FORMAT), Some(epoch), None) => Ok(epoch),
            (Some(FORMAT), Some(epoch), Some(node)) => Err(SharedLogError::Closed {
                epoch,
                node: node.clone(),
            }),
            (Some(format), Some(_), _) => Err(foreign(format!(
                "has format {format}, and this hubd reads {FORMAT}: install a newer one"
            ))),
            _ => Err(foreign("was not made by a hub".into())),
        }
    }

    /// Returns the position of the last message, as the stream's leader knows it.
    pub async fn last(&self) -> Result<u64, SharedLogError> {
        Ok(self.state().await?.last_sequence)
    }

    /// Returns the first and last position and the number of lost messages, as the stream's leader knows them.
    pub async fn state(&self) -> Result<StreamState, SharedLogError> {
        Ok(self.nats.stream(&self.stream).await?.state)
    }

    /// Drops the commits before `position`.
    pub(crate) async fn purge(&self, position: u64) -> Result<(), SharedLogError> {
        self.nats.purge(&self.stream, position).await
    }

    /// Returns the end of the log before the commit at `position`, of the log that `end` is of.
    pub async fn end_before(&self, position: u64, end: &LogEnd) -> Result<LogEnd, SharedLogError> {
        let (frame, _) = self.frame(position).await?;
        Ok(LogEnd {
            head: frame.first() - 1,
            chain: frame.chain,
            ..end.clone()
        })
    }

    /// Subscribes to new messages as they are stored. Some may be missed, see [`commit_of`].
    pub async fn subscribe(&self) -> Result<N::Messages, SharedLogError> {
        self.nats.subscribe(self.live()).await
    }

    /// Returns the id of the message at `position`, as the stream's leader knows it.
    pub(super) async fn message_id(&self, position: u64) -> Result<Option<String>, SharedLogError> {
        let message = self.get(position).await?;
        let id = |it: StoredMessage| Some(it.headers.get(NATS_MESSAGE_ID)?.as_str().to_owned());
        Ok(message.and_then(id))
    }

    /// Returns the message at `position` from the stream's leader.
    async fn get(&self, position: u64) -> Result<Option<StoredMessage>, SharedLogError> {
        self.nats.message(&self.stream, position).await
    }

    /// Returns the commit at `position` from the stream's leader.
    async fn commit(&self, position: u64) -> Result<SharedCommit, SharedLogError> {
        let message = self.get(position).await?;
        let commit = message.and_then(|it| {
            let publisher = publisher_of(&it.subject)?;
            let frame = it.payload;
            Some(SharedCommit {
                position,
                publisher,
                frame,
            })
        });
        match commit {
            Some(commit) => Ok(commit),
            None if position < self.state().await?.first_sequence => {
                Err(SharedLogError::Dropped(position))
            }
            None => Err(SharedLogError::Hole(position)),
        }
    }

    /// Decodes the commit at `position`; returns the hub that appended it too.
    pub(super) async fn frame(&self, position: u64) -> Result<(Frame, String), SharedLogError> {
        let commit = self.commit(position).await?;
        let decoded = frame::decode(&commit.frame).map(|(frame, _)| (frame, commit.publisher));
        decoded.ok_or(SharedLogError::Hole(position))
    }

    /// Returns the place in the stream at which `journal` ends.
    pub async fn place_of(&self, journal: &DiskJournal) -> Result<Place, SharedLogError> {
        let (head, chain) = journal.end();
        self.locate(journal.epoch(), head, chain).await
    }

    /// Returns the place of the commit that ends with record `head`, after which the chain is `chain`.
    async fn locate(&self, epoch: Epoch, head: Seq, chain: u32) -> Result<Place, SharedLogError> {
        let found = self.epoch().await?;
        if found != epoch {
            let reason = format!("is the log {found}, and this hub's is {epoch}");
            let stream = self.stream.clone();
            return Err(SharedLogError::Foreign { stream, reason });
        }
        let state = self.state().await?;
        if state.messages == 0 && head == 0 {
            return Ok(Place::default());
        }
        let Some(position) = self.find(&state, head).await? else {
            return Err(SharedLogError::Behind { head });
        };
        let (frame, publisher) = self.frame(position).await?;
        match frame.chain_at(head) {
            Some(found) if found == chain && frame.last() == head => Ok(Place {
                position,
                publisher: Some(publisher),
            }),
            // The copy has a part of that commit, or ends before it.
            Some(found) if found == chain => Ok(Place {
                position: position - 1,
                publisher: None,
            }),
            None if position == state.first_sequence => Err(SharedLogError::TooOld(head + 1)),
            _ => Err(SharedLogError::Forked { head }),
        }
    }

    /// Returns the position of the commit that contains record `seq`, or of the first one if that is above; `None` if the
    /// stream ends before. Searches back from the end with doubled steps and then by halves, because the commit is near the
    /// end in most cases.
    pub async fn find(&self, state: &StreamState, seq: Seq) -> Result<Option<u64>, SharedLogError> {
        let (mut low, mut high) = (state.first_sequence.max(1), state.last_sequence + 1);
        let mut step = 1;
        let mut is_below = false;
        while low < high {
            let probe = if is_below {
                low.midpoint(high)
            } else {
                high - step.min(high - low)
            };
            if self.frame(probe).await?.0.last() < seq {
                low = probe + 1;
                is_below = true;
            } else {
                high = probe;
                step *= 2;
            }
        }
        Ok((low <= state.last_sequence).then_some(low))
    }

    /// Returns some messages from `from` on, in order; none if the server that answered has no later one yet.
    pub async fn read(&self, from: u64) -> Result<Vec<SharedCommit>, SharedLogError> {
        let inbox = self.nats.new_inbox();
        let mut replies = self.nats.subscribe(inbox.clone()).await?;
        let request = format!(r#"{{"seq":{from},"batch":{BATCH},"max_bytes":{BATCH_BYTES}}}"#);
        let subject = format!("$JS.API.DIRECT.GET.{}", self.stream);
        let request = Outgoing {
            reply: Some(inbox.into()),
            ..Outgoing::new(subject, request)
        };
        self.nats.publish(request).await?;
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
            match commit_of(reply) {
                Some(commit) if commit.position == expected => commits.push(commit),
                // The server that answered may have lost it, and the leader not.
                _ => {
                    commits.push(self.commit(expected).await?);
                    return Ok(commits);
                }
            }
        }
    }
}

/// The position of a commit in the stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The position of the commit; 0 for none.
    pub position: u64,
    /// The hub that appended it, if the stream still has it.
    pub publisher: Option<String>,
}

/// Returns the commit in a message that the server sent from the stream.
pub fn commit_of(message: async_nats::Message) -> Option<SharedCommit> {
    let headers = message.headers.as_ref()?;
    Some(SharedCommit {
        position: headers.get("Nats-Sequence")?.as_str().parse().ok()?,
        publisher: publisher_of(headers.get("Nats-Subject")?.as_str())?,
        frame: message.payload,
    })
}

/// Returns the hub that appended under this subject.
fn publisher_of(subject: &str) -> Option<String> {
    subject.rsplit('.').next().map(str::to_owned)
}
