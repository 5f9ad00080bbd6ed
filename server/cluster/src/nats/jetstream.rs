//! The connection to real NATS servers.

use async_nats::header::{NATS_EXPECTED_LAST_SEQUENCE, NATS_MESSAGE_ID};
use async_nats::jetstream::context::{GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::kv::{self, CreateErrorKind, Store, UpdateErrorKind};
use async_nats::jetstream::object_store::{self, GetErrorKind, InfoErrorKind, ObjectStore};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{Context, ErrorCode};
use async_nats::{Client, HeaderMap, Subscriber};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bytes::Bytes;
use hub_config::ClusterSettings;
use tokio::io::AsyncReadExt as _;

use super::{Keys, Nats, Outgoing, StoredMessage, StreamInfo, StreamState};
use crate::journal::SharedLogError;
use crate::journal::shared_log::unavailable;

/// A connection to the NATS servers of a cluster.
#[derive(Clone)]
pub struct JetStream {
    pub(crate) client: Client,
    pub(crate) context: Context,
    /// The name of the bucket of the cluster's keys, and of that of its objects.
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

    /// Returns the store of the objects; makes it if it is missing.
    pub(crate) async fn objects(&self) -> Result<ObjectStore, SharedLogError> {
        if let Ok(found) = self.context.get_object_store(&self.bucket).await {
            return Ok(found);
        }
        let config = object_store::Config {
            bucket: self.bucket.clone(),
            num_replicas: self.replicas,
            ..object_store::Config::default()
        };
        let made = self.context.create_object_store(config).await;
        made.map_err(unavailable)
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

    async fn purge(&self, stream: &str, position: u64) -> Result<(), SharedLogError> {
        let stream = self.open(stream).await?;
        let purged = stream.purge().sequence(position).await;
        purged.map(drop).map_err(unavailable)
    }

    async fn put_object(&self, name: &str, content: Vec<u8>) -> Result<(), SharedLogError> {
        let objects = self.objects().await?;
        let put = objects.put(name, &mut &content[..]).await;
        put.map(drop).map_err(unavailable)
    }

    async fn object(&self, name: &str) -> Result<Option<Vec<u8>>, SharedLogError> {
        let mut object = match self.objects().await?.get(name).await {
            Ok(object) => object,
            Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(error)),
        };
        let mut bytes = Vec::new();
        object.read_to_end(&mut bytes).await.map_err(unavailable)?;
        Ok(Some(bytes))
    }

    async fn remove_object(&self, name: &str) -> Result<(), SharedLogError> {
        let object = match self.objects().await?.info(name).await {
            Ok(object) => object,
            Err(error) if error.kind() == InfoErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unavailable(error)),
        };
        // Not by `delete`, which keeps a message for each name for ever.
        let stream = self.open(&format!("OBJ_{}", self.bucket)).await?;
        let of_name = format!("M.{}", URL_SAFE.encode(name));
        let of_content = format!("C.{}", object.nuid);
        for subject in [of_name, of_content] {
            let subject = format!("$O.{}.{subject}", self.bucket);
            stream.purge().filter(subject).await.map_err(unavailable)?;
        }
        Ok(())
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
