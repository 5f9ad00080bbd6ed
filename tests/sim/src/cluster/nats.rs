//! A model of NATS with `JetStream`: one stream, its keys, and subjects, behind a link for each hub that may fail.
//!
//! What a hub sends and gets over its link stays in order, as on one connection. A request may be lost before or after it is
//! carried out, and it may be carried out long after its sender has given up.

use std::collections::BTreeMap;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::{HeaderMap, Message, StatusCode, Subject};
use bytes::Bytes;
use futures_util::Stream;
use hub_cluster::journal::SharedLogError;
use hub_cluster::nats::{Keys, Nats, Outgoing, StoredMessage, StreamInfo, StreamState};
use hub_core::sync;
use hub_log::journal::disk::frame;
use hub_protocol::Seq;
use serde_json::Value;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::pulse::Pulse;
use crate::rng::Rng;
use crate::store::EPOCH;

/// The name of the cluster.
pub(crate) const CLUSTER: &str = "sim";
/// How long a hub waits for an answer, as its connection is set.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long the ids of messages are known.
const WINDOW: Duration = Duration::from_secs(120);
/// The time between two elections after which an earlier leader may go on for a while.
const SOUND: Duration = Duration::from_secs(40);
/// After this time a connection is tried again.
const AGAIN: Duration = Duration::from_millis(100);
/// Reads from the stream without its leader.
const DIRECT_GET: &str = "$JS.API.DIRECT.GET.";
/// The status of the end of a batch, and of one without a message.
const END: u16 = 204;
const NOT_FOUND: u16 = 404;

/// The simulated servers.
#[derive(Clone)]
pub(crate) struct Server(Arc<Mutex<State>>);

struct State {
    rng: Rng,
    log: Vec<Stored>,
    /// The messages before the first one that the stream still has.
    dropped: usize,
    objects: BTreeMap<String, Vec<u8>>,
    ids: BTreeMap<String, (u64, Instant)>,
    /// All changes of keys; a revision is a position in it.
    changes: Vec<(String, Bytes)>,
    subscriptions: Vec<Subscription>,
    links: Vec<Link>,
    /// Until when the servers elect a leader.
    elects_until: Instant,
    inboxes: u64,
}

/// A message of the stream.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    subject: String,
    id: String,
    /// The commit.
    pub(crate) frame: Bytes,
}

struct Subscription {
    hub: usize,
    subject: String,
    sender: mpsc::UnboundedSender<Message>,
}

/// How a link fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It does not.
    Open,
    /// What is sent is lost.
    Drops,
    /// What is sent arrives when the link is open again.
    Holds,
}

/// The link between a hub and the servers.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// How it fails.
    pub(crate) cut: Cut,
    /// Whether another server can be reached instead.
    pub(crate) has_way_round: bool,
    /// The least and the longest time that a message takes, in milliseconds.
    pub(crate) delay_ms: (u64, u64),
    /// How many messages of 100 are lost.
    pub(crate) loss: u64,
    /// The state that an earlier leader knows, if that one answers reads.
    stale: Option<Known>,
    /// When an earlier leader may answer again.
    stale_again: Instant,
    opened: Arc<Notify>,
    /// When the last message up and the last one down arrive.
    last: [Instant; 2],
}

/// The state that a leader knows: the part of the stream that there is, and the end of the changes.
#[derive(Debug, Clone)]
struct Known {
    log: Range<usize>,
    changes: usize,
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Up,
    Down,
}

/// What becomes of a message on a link.
enum Passage {
    Lost,
    Held(OwnedNotified),
    Arrives(Instant),
}

impl Server {
    /// Servers with an empty stream, and links for this number of hubs.
    pub(crate) fn new(rng: Rng, hubs: usize) -> Self {
        let now = Instant::now();
        let link = || Link {
            cut: Cut::Open,
            has_way_round: false,
            delay_ms: (1, 4),
            loss: 0,
            stale: None,
            stale_again: now,
            opened: Arc::default(),
            last: [now; 2],
        };
        Self(Arc::new(Mutex::new(State {
            rng,
            log: Vec::new(),
            dropped: 0,
            objects: BTreeMap::new(),
            ids: BTreeMap::new(),
            changes: Vec::new(),
            subscriptions: Vec::new(),
            links: (0..hubs).map(|_| link()).collect(),
            elects_until: now,
            inboxes: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        sync::lock(&self.0)
    }

    /// Returns the messages of the stream behind the first `known` ones.
    pub(crate) fn log_after(&self, known: usize) -> Vec<Stored> {
        self.state().log[known..].to_vec()
    }

    /// Changes the link of a hub.
    pub(crate) fn set_link(&self, hub: usize, change: impl FnOnce(&mut Link)) {
        let mut state = self.state();
        let link = &mut state.links[hub];
        change(link);
        if link.cut == Cut::Open {
            link.opened.notify_waiters();
        }
    }

    /// Whether a hub is connected.
    pub(crate) fn is_open(&self, hub: usize) -> bool {
        self.state().links[hub].cut == Cut::Open
    }

    /// Returns the first record that the stream still has; `None` if it has none.
    pub(crate) fn first_record(&self) -> Option<Seq> {
        let state = self.state();
        let first = state.log.get(state.dropped)?;
        frame::decode(&first.frame).map(|(it, _)| it.first())
    }

    /// Whether the servers were sound for long enough that an earlier leader may answer a hub.
    pub(crate) fn may_mislead(&self, hub: usize) -> bool {
        let mut state = self.state();
        let now = Instant::now();
        let link = &mut state.links[hub];
        let may = now >= link.stale_again;
        if may {
            link.stale_again = now + SOUND;
        }
        may
    }

    /// Lets an earlier leader answer the reads of a hub from now on, or the present one again.
    pub(crate) fn mislead(&self, hub: usize, is_misled: bool) {
        let mut state = self.state();
        let now = state.now();
        state.links[hub].stale = is_misled.then_some(now);
    }

    /// Lets the servers have no leader for this long.
    pub(crate) fn elect(&self, time: Duration) {
        self.state().elects_until = Instant::now() + time;
    }

    /// Takes a message over a link. Returns whether it arrives.
    async fn cross(&self, hub: usize, way: Way) -> bool {
        loop {
            let passage = self.state().send(hub, way);
            match passage {
                Passage::Lost => return false,
                Passage::Held(opened) => opened.await,
                Passage::Arrives(at) => {
                    tokio::time::sleep_until(at).await;
                    return true;
                }
            }
        }
    }

    /// Delivers a message to those who subscribed. Returns how many there are.
    fn deliver(&self, message: &Message) -> usize {
        let mut state = self.state();
        state.subscriptions.retain(|it| !it.sender.is_closed());
        let matching = { state.subscriptions.iter() }.filter(|it| it.includes(&message.subject));
        let receivers: Vec<_> = matching.map(|it| (it.hub, it.sender.clone())).collect();
        drop(state);
        let count = receivers.len();
        for (hub, sender) in receivers {
            let (own, message) = (self.clone(), message.clone());
            tokio::spawn(async move {
                if own.cross(hub, Way::Down).await {
                    let _ = sender.send(message);
                }
            });
        }
        count
    }

    /// Takes a message that a hub has published.
    fn take(&self, hub: usize, message: Outgoing) {
        let Outgoing {
            subject,
            reply,
            headers,
            payload,
        } = message;
        if let Some(reply) = reply.as_ref().filter(|_| subject.starts_with(DIRECT_GET)) {
            let answers = self.state().read(hub, &payload, reply);
            for answer in &answers {
                self.deliver(answer);
            }
            return;
        }
        let received = self.deliver(&message_of(subject, reply.clone(), headers, payload));
        if let Some(reply) = reply.filter(|_| received == 0) {
            self.deliver(&status(reply, StatusCode::NO_RESPONDERS));
        }
    }
}

impl State {
    fn send(&mut self, hub: usize, way: Way) -> Passage {
        let link = &mut self.links[hub];
        match link.cut {
            Cut::Drops => Passage::Lost,
            Cut::Holds => Passage::Held(Arc::clone(&link.opened).notified_owned()),
            Cut::Open if self.rng.chance(link.loss) => Passage::Lost,
            Cut::Open => {
                let delay = self.rng.between(link.delay_ms.0, link.delay_ms.1);
                let earliest = link.last[way as usize] + Duration::from_millis(1);
                let at = earliest.max(Instant::now() + Duration::from_millis(delay));
                link.last[way as usize] = at;
                Passage::Arrives(at)
            }
        }
    }

    fn has_leader(&self) -> bool {
        Instant::now() >= self.elects_until
    }

    /// Appends to the stream, and returns the message for those who follow it.
    fn append(&mut self, stored: Stored, after: u64) -> (Option<u64>, Option<Message>) {
        let now = Instant::now();
        self.ids
            .retain(|_, (_, since)| now.duration_since(*since) < WINDOW);
        if let Some((position, _)) = self.ids.get(&stored.id) {
            return (Some(*position), None);
        }
        if after != self.log.len() as u64 {
            return (None, None);
        }
        let position = after + 1;
        self.ids.insert(stored.id.clone(), (position, now));
        let live = stored.subject.replace(".log.", ".live.");
        let message = stored.message(live.into(), position);
        self.log.push(stored);
        (Some(position), Some(message))
    }

    /// The state that the leader knows.
    fn now(&self) -> Known {
        Known {
            log: self.dropped..self.log.len(),
            changes: self.changes.len(),
        }
    }

    /// The state that is known to the leader that answers a hub.
    fn known(&self, hub: usize) -> Known {
        self.links[hub].stale.clone().unwrap_or_else(|| self.now())
    }

    /// Returns the message at `position` as a hub reads it.
    fn message(&self, hub: usize, position: u64) -> Option<&Stored> {
        let at = usize::try_from(position).ok()?.checked_sub(1)?;
        let is_known = self.known(hub).log.contains(&at);
        self.log.get(at).filter(|_| is_known)
    }

    /// Answers a read of a batch, as a replica may that has not got the last messages yet.
    fn read(&mut self, hub: usize, request: &[u8], reply: &Subject) -> Vec<Message> {
        if !self.has_leader() {
            return Vec::new();
        }
        let Range { start, end } = self.known(hub).log;
        let end = match self.rng.below(10) {
            0 => end.saturating_sub(self.rng.index(4)),
            _ => end,
        };
        let request: Value = serde_json::from_slice(request).unwrap_or_default();
        let number = |key: &str| usize::try_from(request[key].as_u64().unwrap_or(0)).unwrap_or(0);
        let first = (number("seq").max(1) - 1).max(start);
        let end = end.min(first + number("batch"));
        let found = self.log.get(first..end).unwrap_or_default();
        let mut answers: Vec<Message> = { found.iter().zip(first as u64 + 1..) }
            .map(|(it, position)| it.message(reply.clone(), position))
            .collect();
        let code = if answers.is_empty() { NOT_FOUND } else { END };
        let code = StatusCode::from_u16(code).expect("a constant status");
        answers.push(status(reply.clone(), code));
        answers
    }

    /// Returns a key's value and revision, as a hub reads them.
    fn key(&self, hub: usize, key: &str) -> Option<(u64, Bytes)> {
        last_change(&self.changes[..self.known(hub).changes], key)
    }

    /// Sets a key that has this revision.
    fn set(&mut self, key: &str, value: Bytes, revision: u64) -> Option<u64> {
        let known = last_change(&self.changes, key);
        if known.map_or(0, |(revision, _)| revision) != revision {
            return None;
        }
        self.changes.push((key.to_owned(), value));
        Some(self.changes.len() as u64)
    }
}

fn last_change(changes: &[(String, Bytes)], key: &str) -> Option<(u64, Bytes)> {
    let at = changes.iter().rposition(|(of, _)| of == key)?;
    Some((at as u64 + 1, changes[at].1.clone()))
}

impl Stored {
    /// Returns the message in which the server sends it.
    fn message(&self, subject: Subject, position: u64) -> Message {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Sequence", position.to_string());
        headers.insert("Nats-Subject", self.subject.as_str());
        message_of(subject, None, Some(headers), self.frame.clone())
    }
}

impl Subscription {
    fn includes(&self, subject: &str) -> bool {
        let (mut wanted, mut parts) = (self.subject.split('.'), subject.split('.'));
        loop {
            match (wanted.next(), parts.next()) {
                (None, None) => return true,
                (Some(wanted), Some(part)) if wanted == "*" || wanted == part => {}
                _ => return false,
            }
        }
    }
}

fn message_of(
    subject: Subject,
    reply: Option<Subject>,
    headers: Option<HeaderMap>,
    payload: Bytes,
) -> Message {
    let length = payload.len();
    Message {
        subject,
        reply,
        payload,
        headers,
        status: None,
        description: None,
        length,
    }
}

fn status(subject: Subject, code: StatusCode) -> Message {
    Message {
        status: Some(code),
        ..message_of(subject, None, None, Bytes::new())
    }
}

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
