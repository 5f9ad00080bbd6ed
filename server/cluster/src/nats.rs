//! The functions of NATS that a hub needs. The hub's only implementation is [`JetStream`]; the simulation has its own.

use std::collections::HashMap;

use async_nats::{HeaderMap, Message, Subject};
use bytes::Bytes;
use futures_util::Stream;

use crate::journal::SharedLogError;

mod jetstream;

pub use jetstream::JetStream;

/// A connection to NATS; clones share it.
pub trait Nats: Clone + Send + Sync + 'static {
    /// The messages of a subscription.
    type Messages: Stream<Item = Message> + Send + Unpin + 'static;
    /// The keys of a cluster.
    type Keys: Keys;

    /// Publishes a message. Nobody may get it.
    fn publish(&self, message: Outgoing)
    -> impl Future<Output = Result<(), SharedLogError>> + Send;

    /// Subscribes to a subject. Messages may be missed.
    fn subscribe(
        &self,
        subject: String,
    ) -> impl Future<Output = Result<Self::Messages, SharedLogError>> + Send;

    /// Returns a new subject for answers.
    fn new_inbox(&self) -> String;

    /// Returns when the server has what was published.
    fn flush(&self) -> impl Future<Output = Result<(), SharedLogError>> + Send;

    /// Goes to another server.
    fn reconnect(&self) -> impl Future<Output = Result<(), SharedLogError>> + Send;

    /// Appends `payload` to the stream of `subject`, behind the message at the position `after`. Returns its position, or that
    /// of a message with the same id; `None` if the stream has another end. After an error it may be stored, and later too.
    fn append(
        &self,
        subject: String,
        after: u64,
        id: &str,
        payload: Bytes,
    ) -> impl Future<Output = Result<Option<u64>, SharedLogError>> + Send;

    /// Describes a stream, as its leader knows it.
    fn stream(&self, name: &str)
    -> impl Future<Output = Result<StreamInfo, SharedLogError>> + Send;

    /// Returns the message at `position` of a stream, as its leader knows it.
    fn message(
        &self,
        stream: &str,
        position: u64,
    ) -> impl Future<Output = Result<Option<StoredMessage>, SharedLogError>> + Send;

    /// Drops the messages of a stream before `position`.
    fn purge(
        &self,
        stream: &str,
        position: u64,
    ) -> impl Future<Output = Result<(), SharedLogError>> + Send;

    /// Stores an object of the cluster, in place of one with this name. After an error it may be stored, and later too.
    fn put_object(
        &self,
        name: &str,
        content: Vec<u8>,
    ) -> impl Future<Output = Result<(), SharedLogError>> + Send;

    /// Returns an object; `None` if there is none with this name.
    fn object(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, SharedLogError>> + Send;

    /// Removes an object, if there is one with this name.
    fn remove_object(&self, name: &str) -> impl Future<Output = Result<(), SharedLogError>> + Send;

    /// Returns the keys of the cluster; makes them if this hub is the first.
    fn keys(&self) -> impl Future<Output = Result<Self::Keys, SharedLogError>> + Send;
}

/// Keys with values, each of which has the revision of its last change.
pub trait Keys: Clone + Send + Sync + 'static {
    /// Returns the value of `key` and its revision, as the leader knows them; a replica may be old.
    fn read(
        &self,
        key: &str,
    ) -> impl Future<Output = Result<Option<(u64, Bytes)>, SharedLogError>> + Send;

    /// Returns the value of `key`; that of a replica, which may be old.
    fn get(&self, key: &str) -> impl Future<Output = Result<Option<Bytes>, SharedLogError>> + Send;

    /// Sets `key` if it has no value. Returns whether it had none.
    fn create(
        &self,
        key: &str,
        value: Bytes,
    ) -> impl Future<Output = Result<bool, SharedLogError>> + Send;

    /// Sets `key` if it still has the revision `revision`, 0 for none. Returns the new revision; `None` if it has another one.
    fn update(
        &self,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> impl Future<Output = Result<Option<u64>, SharedLogError>> + Send;
}

/// A message to publish.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The subject to publish it to.
    pub subject: Subject,
    /// The subject for the answers.
    pub reply: Option<Subject>,
    /// Its headers.
    pub headers: Option<HeaderMap>,
    /// Its content.
    pub payload: Bytes,
}

impl Outgoing {
    /// A message that nobody answers.
    pub fn new(subject: impl Into<Subject>, payload: impl Into<Bytes>) -> Self {
        Self {
            subject: subject.into(),
            reply: None,
            headers: None,
            payload: payload.into(),
        }
    }
}

/// A message of a stream.
#[derive(Debug, Clone)]
pub struct StoredMessage {
    /// The subject that it was published to.
    pub subject: Subject,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its content.
    pub payload: Bytes,
}

/// A stream.
#[derive(Debug, Clone, Default)]
pub struct StreamInfo {
    /// The metadata with which it was created.
    pub metadata: HashMap<String, String>,
    /// Its content.
    pub state: StreamState,
}

/// The content of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamState {
    /// How many messages it has.
    pub messages: u64,
    /// The position of the first one.
    pub first_sequence: u64,
    /// The position of the last one that it ever had.
    pub last_sequence: u64,
    /// How many messages between the two are missing.
    pub deleted: u64,
}
