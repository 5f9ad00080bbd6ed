//! The connection of one process to the simulated servers.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::{HeaderMap, Message};
use bytes::Bytes;
use futures_util::Stream;
use hub_cluster::journal::SharedLogError;
use hub_cluster::nats::{Keys, Nats, Outgoing, StoredMessage, StreamInfo, StreamState};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::{Cut, Server, Stored, Subscription, Way};
use crate::cluster::pulse::Pulse;
use crate::store::EPOCH;

/// How long a hub waits for an answer, as its connection is set.
const TIMEOUT: Duration = Duration::from_secs(2);
/// After this time a connection is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// The connection of one process.
#[derive(Clone)]
pub(crate) struct SimNats {
    server: Server,
    hub: usize,
    pulse: Pulse,
}

impl SimNats {
    /// The connection of a process of the hub with this number.
    pub(crate) fn new(server: &Server, hub: usize, pulse: Pulse) -> Self {
        let server = server.clone();
        Self { server, hub, pulse }
    }

    /// Lets the leader carry something out, if the request arrives, and returns the outcome, if that arrives in time.
    async fn request<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Server, usize) -> T + Send + 'static,
    ) -> Result<T, SharedLogError> {
        self.pulse.running().await;
        let ends = Instant::now() + TIMEOUT;
        let (reply, answer) = oneshot::channel();
        let (server, hub) = (self.server.clone(), self.hub);
        tokio::spawn(async move {
            if server.cross(hub, Way::Up).await && server.state().has_leader() {
                let outcome = act(&server, hub);
                if server.cross(hub, Way::Down).await {
                    let _ = reply.send(outcome);
                }
            }
        });
        let answered = tokio::time::timeout_at(ends, answer).await;
        if let Ok(Ok(outcome)) = answered {
            self.pulse.running().await;
            return Ok(outcome);
        }
        tokio::time::sleep_until(ends).await;
        self.pulse.running().await;
        Err(SharedLogError::Unavailable("no answer".into()))
    }
}

impl Nats for SimNats {
    type Messages = Messages;
    type Keys = Self;

    async fn publish(&self, message: Outgoing) -> Result<(), SharedLogError> {
        self.pulse.running().await;
        let (server, hub) = (self.server.clone(), self.hub);
        tokio::spawn(async move {
            if server.cross(hub, Way::Up).await {
                server.take(hub, message);
            }
        });
        Ok(())
    }

    async fn subscribe(&self, subject: String) -> Result<Messages, SharedLogError> {
        self.pulse.running().await;
        let (sender, messages) = mpsc::unbounded_channel();
        let (server, hub) = (self.server.clone(), self.hub);
        tokio::spawn(async move {
            // A client subscribes again when it connects again.
            while !server.cross(hub, Way::Up).await {
                tokio::time::sleep(AGAIN).await;
            }
            let subscription = Subscription {
                hub,
                subject,
                sender,
            };
            server.state().subscriptions.push(subscription);
        });
        Ok(Messages(messages))
    }

    fn new_inbox(&self) -> String {
        let mut state = self.server.state();
        state.inboxes += 1;
        format!("_INBOX.{}", state.inboxes)
    }

    async fn flush(&self) -> Result<(), SharedLogError> {
        self.request(|_, _| ()).await
    }

    async fn reconnect(&self) -> Result<(), SharedLogError> {
        self.server.set_link(self.hub, |link| {
            if link.has_way_round {
                link.cut = Cut::Open;
            }
        });
        Ok(())
    }

    async fn append(
        &self,
        subject: String,
        after: u64,
        id: &str,
        frame: Bytes,
    ) -> Result<Option<u64>, SharedLogError> {
        let id = id.to_owned();
        let stored = Stored { subject, id, frame };
        self.request(move |server, _| {
            let (outcome, live) = server.state().append(stored, after);
            if let Some(live) = live {
                server.deliver(&live);
            }
            outcome
        })
        .await
    }

    async fn stream(&self, _: &str) -> Result<StreamInfo, SharedLogError> {
        self.request(|server, hub| {
            let Range { start, end } = server.state().known(hub).log;
            let metadata = [
                ("hub_epoch", EPOCH.to_string()),
                ("hub_format", "1".to_owned()),
            ];
            StreamInfo {
                metadata: metadata.map(|(key, value)| (key.to_owned(), value)).into(),
                state: StreamState {
                    messages: (end - start) as u64,
                    first_sequence: start as u64 + 1,
                    last_sequence: end as u64,
                    deleted: 0,
                },
            }
        })
        .await
    }

    async fn message(
        &self,
        _: &str,
        position: u64,
    ) -> Result<Option<StoredMessage>, SharedLogError> {
        self.request(move |server, hub| {
            let state = server.state();
            let found = state.message(hub, position)?;
            let mut headers = HeaderMap::new();
            headers.insert(NATS_MESSAGE_ID, found.id.as_str());
            Some(StoredMessage {
                subject: found.subject.as_str().into(),
                headers,
                payload: found.frame.clone(),
            })
        })
        .await
    }

    async fn purge(&self, _: &str, position: u64) -> Result<(), SharedLogError> {
        self.request(move |server, _| {
            let mut state = server.state();
            let wanted = usize::try_from(position).unwrap_or(0).saturating_sub(1);
            state.dropped = state.dropped.max(wanted);
        })
        .await
    }

    async fn put_object(&self, name: &str, content: Vec<u8>) -> Result<(), SharedLogError> {
        let name = name.to_owned();
        self.request(move |server, _| {
            server.state().objects.insert(name, content);
        })
        .await
    }

    async fn object(&self, name: &str) -> Result<Option<Vec<u8>>, SharedLogError> {
        let name = name.to_owned();
        self.request(move |server, _| server.state().objects.get(&name).cloned())
            .await
    }

    async fn remove_object(&self, name: &str) -> Result<(), SharedLogError> {
        let name = name.to_owned();
        self.request(move |server, _| {
            server.state().objects.remove(&name);
        })
        .await
    }

    async fn keys(&self) -> Result<Self, SharedLogError> {
        self.request(|_, _| ()).await?;
        Ok(self.clone())
    }
}

impl Keys for SimNats {
    async fn read(&self, key: &str) -> Result<Option<(u64, Bytes)>, SharedLogError> {
        let key = key.to_owned();
        self.request(move |server, hub| server.state().key(hub, &key))
            .await
    }

    async fn get(&self, key: &str) -> Result<Option<Bytes>, SharedLogError> {
        let found = self.read(key).await?;
        Ok(found.map(|(_, value)| value))
    }

    async fn create(&self, key: &str, value: Bytes) -> Result<bool, SharedLogError> {
        let made = self.update(key, value, 0).await?;
        Ok(made.is_some())
    }

    async fn update(
        &self,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<Option<u64>, SharedLogError> {
        let key = key.to_owned();
        self.request(move |server, _| server.state().set(&key, value, revision))
            .await
    }
}

/// The messages of a subscription.
pub(crate) struct Messages(mpsc::UnboundedReceiver<Message>);

impl Stream for Messages {
    type Item = Message;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        self.0.poll_recv(cx)
    }
}
