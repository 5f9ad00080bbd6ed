//! The administrator's calls: create the stream with its settings, end it, delete it.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::stream::{self, DiscardPolicy, Republish};
use hub_protocol::Epoch;

use super::{EPOCH_KEY, FORMAT, FORMAT_KEY, MOVED_KEY, SharedLog, SharedLogError, unavailable};
use crate::journal::MAX_MESSAGE;

impl SharedLog {
    /// Creates the stream of a new log with this epoch. If the stream exists, its settings stay as they are.
    pub async fn create(&self, epoch: Epoch, replicas: usize) -> Result<(), SharedLogError> {
        match self
            .nats
            .context
            .create_stream(self.config(epoch, replicas))
            .await
        {
            Ok(_) => Ok(()),
            // Another hub may have created it first.
            Err(error) => match self.epoch().await {
                Err(SharedLogError::Missing(_)) => Err(match error.kind() {
                    CreateStreamErrorKind::JetStream(cause)
                        if cause.error_code() == ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED =>
                    {
                        SharedLogError::OneServer
                    }
                    _ => unavailable(error),
                }),
                found => found.map(drop),
            },
        }
    }

    /// Deletes the stream, with all that it holds.
    pub async fn delete(&self) -> Result<(), SharedLogError> {
        let deleted = self.nats.context.delete_stream(&self.stream).await;
        deleted.map(drop).map_err(unavailable)
    }

    /// Ends the log in NATS, because the hub `node` goes on with it alone: from now on no hub can append.
    pub async fn close(&self, node: &str) -> Result<(), SharedLogError> {
        let closed = format!("{}.closed", self.prefix);
        self.update(closed, Some(node)).await
    }

    /// Allows appends again after [`Self::close`].
    pub async fn reopen(&self) -> Result<(), SharedLogError> {
        self.update(self.subject("*"), None).await
    }

    /// Sets the subject that the stream stores, and the hub that goes on with the log alone.
    async fn update(&self, subject: String, moved_to: Option<&str>) -> Result<(), SharedLogError> {
        let stream = self.nats.open(&self.stream).await?;
        let mut config = stream.cached_info().config.clone();
        config.subjects = vec![subject];
        match moved_to {
            Some(node) => config.metadata.insert(MOVED_KEY.into(), node.into()),
            None => config.metadata.remove(MOVED_KEY),
        };
        let updated = self.nats.context.update_stream(config).await;
        updated.map(drop).map_err(unavailable)
    }

    fn config(&self, epoch: Epoch, replicas: usize) -> stream::Config {
        let metadata = [
            (EPOCH_KEY, epoch.to_string()),
            (FORMAT_KEY, FORMAT.to_owned()),
        ];
        stream::Config {
            name: self.stream.clone(),
            subjects: vec![self.subject("*")],
            republish: Some(Republish {
                source: self.subject("*"),
                destination: format!("{}.live.{{{{wildcard(1)}}}}", self.prefix),
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
        }
    }

    /// Returns on how many NATS servers the stream is.
    pub async fn replicas(&self) -> Result<usize, SharedLogError> {
        let stream = self.nats.open(&self.stream).await?;
        Ok(stream.cached_info().config.num_replicas)
    }
}
