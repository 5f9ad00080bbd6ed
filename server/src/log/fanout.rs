//! Live delivery: one thread writes each event to every stream that waits for it.
//!
//! A stream is a task with a place in the log. Once it has read everything it parks, and what comes next is written for
//! it while it sleeps: waking a task for an event costs half as much again as the write does. Whatever is more than a
//! write (a full socket, a place too far back) calls the task, which goes on by itself.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hub_protocol::{InboxName, ProjectName, Seq};
use tokio::time::Instant;

use super::{Event, Log};
use deliverer::Deliverer;
use subscriber::Subscriber;

mod deliverer;
mod subscriber;

/// Where a stream's bytes go.
pub trait Sink: Send + Sync {
    /// Takes what there is room for without waiting; how many bytes that was.
    fn offer(&self, bytes: &[u8]) -> usize;
}

/// What a stream is sent of an event, the same bytes as everybody; `None` where it is not for it.
pub type Choose = Box<dyn for<'a> Fn(&Log, &'a Event) -> Option<&'a Bytes> + Send + Sync>;

/// What a stream is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Whatever comes.
    Everything,
    /// One inbox: the stream is not even offered what does not touch it.
    Inbox(ProjectName, InboxName),
}

/// All streams. The thread begins with the first of them and ends with the log.
#[derive(Default)]
pub struct Fanout(OnceLock<Arc<Deliverer>>);

/// A stream's place in the fan-out; it is given up when this is dropped.
pub struct Subscription {
    log: Arc<Log>,
    deliverer: Arc<Deliverer>,
    topic: Topic,
    key: usize,
    subscriber: Arc<Subscriber>,
}

/// What happened while a stream was parked.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The last event that it has, once it has `rest`.
    pub cursor: Seq,
    /// What is still to be written.
    pub rest: Bytes,
    /// When something was written for it last.
    pub wrote: Option<Instant>,
}

/// Where a stream's connection says how to write to it.
#[derive(Clone)]
pub struct Outlet(Arc<Subscriber>);

impl Fanout {
    /// There is something new in the log.
    pub fn wake(&self) {
        if let Some(deliverer) = self.0.get() {
            deliverer.wake();
        }
    }

    /// A place for a stream.
    pub fn join(&self, log: &Arc<Log>, topic: Topic, choose: Choose) -> Subscription {
        let deliverer = self.0.get_or_init(|| Deliverer::start(log));
        let subscriber = Arc::new(Subscriber::new(choose));
        let key = deliverer.add(topic.clone(), Arc::clone(&subscriber), log);
        Subscription {
            log: Arc::clone(log),
            deliverer: Arc::clone(deliverer),
            topic,
            key,
            subscriber,
        }
    }
}

impl Drop for Fanout {
    fn drop(&mut self) {
        if let Some(deliverer) = self.0.get() {
            deliverer.look();
        }
    }
}

impl Subscription {
    /// For the connection that carries the stream. Without one, its task is called for every event.
    pub fn outlet(&self) -> Outlet {
        Outlet(Arc::clone(&self.subscriber))
    }

    /// From now on events after `cursor` are written for the stream, until [`Self::take`]. All bytes before them must be
    /// written. `false`, and nothing changed, where there is something after `cursor` already.
    pub fn park(&self, cursor: Seq) -> bool {
        self.subscriber.park(cursor, || self.log.head())
    }

    /// Waits until the stream has to go on by itself. May be dropped and called again.
    pub async fn called(&self) {
        self.subscriber.called().await;
    }

    /// Ends what [`Self::park`] began.
    pub fn take(&self) -> Taken {
        // What was passed meanwhile was written for it or did not touch it.
        self.subscriber.take(self.deliverer.seen())
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.deliverer.remove(&self.topic, self.key);
    }
}

impl Outlet {
    /// Says where the stream's bytes go.
    pub fn connect(&self, sink: Arc<dyn Sink>) {
        self.0.connect(sink);
    }
}

#[cfg(test)]
pub(crate) mod tests;
