//! A model of NATS with `JetStream`: one stream, its keys, and subjects, behind a link for each hub that may fail.
//!
//! What a hub sends and gets over its link stays in order, as on one connection. A request may be lost before or after it is
//! carried out, and it may be carried out long after its sender has given up.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_nats::{HeaderMap, Message, StatusCode, Subject};
use bytes::Bytes;
use hub_cluster::nats::Outgoing;
use hub_core::sync;
use hub_log::journal::disk::frame;
use hub_protocol::Seq;
use serde_json::Value;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::rng::Rng;

mod connection;

pub(crate) use connection::SimNats;

/// The name of the cluster.
pub(crate) const CLUSTER: &str = "sim";
/// How long the ids of messages are known.
const WINDOW: Duration = Duration::from_secs(120);
/// The time between two elections after which an earlier leader may go on for a while.
const SOUND: Duration = Duration::from_secs(40);
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
