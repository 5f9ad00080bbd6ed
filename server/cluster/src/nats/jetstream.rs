//! The connection to real NATS servers.

use async_nats::header::{NATS_EXPECTED_LAST_SEQUENCE, NATS_MESSAGE_ID};
use async_nats::jetstream::context::{GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::kv::{self, CreateErrorKind, Store, UpdateErrorKind};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{Context, ErrorCode};
use async_nats::{Client, HeaderMap, Subscriber};
use bytes::Bytes;
use hub_config::ClusterSettings;

use super::{Keys, Nats, Outgoing, StoredMessage, StreamInfo, StreamState};
use crate::journal::SharedLogError;
use crate::journal::base::BaseStore;
use crate::journal::shared_log::unavailable;

/// A connection to the NATS servers of a cluster.
#[derive(Clone)]
pub struct JetStream {
    pub(crate) client: Client,
    pub(crate) context: Context,
    /// The name of the bucket of the cluster's keys, and of that of its base.
    bucket: String,
    replicas: usize,
}

impl JetStream {
    /// A connection for the cluster of `settings`.
    pub fn new(context: Context, settings: &ClusterSettings) -> Self {
        Self {
            client: context.client(),
            context,
            bucket: format!("hub_{}", settings.name),
            replicas: settings.replicas.get() as usize,
        }
    }

    /// Returns a stream with its description.
    pub(crate) async fn open(&self, name: &str) -> Result<Stream, SharedLogError> {
        let opened = self.context.get_stream(name).await;
        opened.map_err(|error| match error.kind() {
            GetStreamErrorKind::JetStream(cause)
                if cause.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                SharedLogError::Missing(name.to_owned())
            }
            _ => unavailable(error),
        })
    }

    /// The store of the base.
    pub(crate) fn base(&self) -> BaseStore {
        BaseStore::new(self.context.clone(), &self.bucket, self.replicas)
    }
}

impl Nats for JetStream {
    type Messages = Subscriber;
    type Keys = Store;

    async fn publish(&self, message: Outgoing) -> Result<(), SharedLogError> {
        let Outgoing {
            subject,
            reply,
            headers,
            payload,
        } = message;
        let client = &self.client;
        let sent = match (reply, headers) {
            (None, None) => client.publish(subject, payload).await,
            (None, Some(headers)) => client.publish_with_headers(subject, headers, payload).await,
            (Some(reply), None) => client.publish_with_reply(subject, reply, payload).await,
            (Some(reply), Some(headers)) => {
                client
                    .publish_with_reply_and_headers(subject, reply, headers, payload)
                    .await
            }
        };
        sent.map_err(unavailable)
    }

    async fn subscribe(&self, subject: String) -> Result<Subscriber, SharedLogError> {
        self.client.subscribe(subject).await.map_err(unavailable)
    }

    fn new_inbox(&self) -> String {
        self.client.new_inbox()
    }

    async fn flush(&self) -> Result<(), SharedLogError> {
        self.client.flush().await.map_err(unavailable)
    }

    async fn reconnect(&self) -> Result<(), SharedLogError> {
        self.client.force_reconnect().await.map_err(unavailable)
    }

    async fn append(
        &self,
        subject: String,
        after: u64,
        id: &str,
        payload: Bytes,
    ) -> Result<Option<u64>, SharedLogError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SEQUENCE, after.to_string());
        headers.insert(NATS_MESSAGE_ID, id);
        let acknowledged = async {
            let sent = self.context.publish_with_headers(subject, headers, payload);
            sent.await?.await
        };
        match acknowledged.await {
            Ok(ack) => Ok(Some(ack.sequence)),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn stream(&self, name: &str) -> Result<StreamInfo, SharedLogError> {
        let stream = self.open(name).await?;
        let info = stream.cached_info();
        Ok(StreamInfo {
            metadata: info.config.metadata.clone(),
            state: StreamState {
                messages: info.state.messages,
                first_sequence: info.state.first_sequence,
                last_sequence: info.state.last_sequence,
                deleted: info.state.deleted_count.unwrap_or(0),
            },
        })
    }

    async fn message(
        &self,
        stream: &str,
        position: u64,
    ) -> Result<Option<StoredMessage>, SharedLogError> {
        let opened = self.context.get_stream_no_info(stream).await;
        let stream = opened.map_err(unavailable)?;
        match stream.get_raw_message(position).await {
            Ok(message) => Ok(Some(StoredMessage {
                subject: message.subject,
                headers: message.headers,
                payload: message.payload,
            })),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn keys(&self) -> Result<Store, SharedLogError> {
        if let Ok(found) = self.context.get_key_value(&self.bucket).await {
            return Ok(found);
        }
        let config = kv::Config {
            bucket: self.bucket.clone(),
            history: 1,
            num_replicas: self.replicas,
            ..kv::Config::default()
        };
        let made = self.context.create_key_value(config).await;
        made.map_err(unavailable)
    }
}

impl Keys for Store {
    async fn read(&self, key: &str) -> Result<Option<(u64, Bytes)>, SharedLogError> {
        let subject = format!("{}{key}", self.prefix);
        match { &self.stream }
            .get_last_raw_message_by_subject(&subject)
            .await
        {
            Ok(found) => Ok(Some((found.sequence, found.payload))),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn get(&self, key: &str) -> Result<Option<Bytes>, SharedLogError> {
        Store::get(self, key).await.map_err(unavailable)
    }

    async fn create(&self, key: &str, value: Bytes) -> Result<bool, SharedLogError> {
        match Store::create(self, key, value).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn update(
        &self,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<Option<u64>, SharedLogError> {
        match Store::update(self, key, value, revision).await {
            Ok(revision) => Ok(Some(revision)),
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }
}
