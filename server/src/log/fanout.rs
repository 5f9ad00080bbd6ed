//! The fan-out: one thread writes each new event to every waiting stream.
//!
//! A stream is a task with a cursor in the log. When it has sent everything it parks, and the fan-out writes the next
//! events to its socket, because waking a task costs half as much again as the write. For anything but a plain write
//! (a full socket, a cursor too far back) the fan-out wakes the stream's task.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hub_protocol::{InboxName, ProjectName, Seq};
use tokio::time::Instant;

use super::{Event, Log};
use deliverer::Deliverer;
use subscriber::Subscriber;

mod deliverer;
mod subscriber;

/// The destination of a stream's bytes: its socket.
pub trait Sink: Send + Sync {
    /// Writes as many bytes as fit without blocking. Returns their number.
    fn offer(&self, bytes: &[u8]) -> usize;
}

/// Returns the shared frame of an event for this stream, or `None` if its filter drops the event.
pub type Choose = Box<dyn for<'a> Fn(&Log, &'a Event) -> Option<&'a Bytes> + Send + Sync>;

/// The events that a stream may receive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// All events.
    Everything,
    /// Events of one inbox. The fan-out does not offer other events to the stream.
    Inbox(ProjectName, InboxName),
}

/// All streams. The thread starts with the first stream and ends with the log.
#[derive(Default)]
pub struct Fanout(OnceLock<Arc<Deliverer>>);

/// A stream's registration in the fan-out, removed on drop.
pub struct Subscription {
    log: Arc<Log>,
    deliverer: Arc<Deliverer>,
    topic: Topic,
    key: usize,
    subscriber: Arc<Subscriber>,
}

/// The progress of a stream while it was parked.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The last event that the stream has sent, once `rest` is written.
    pub cursor: Seq,
    /// The bytes that did not fit into the socket.
    pub rest: Bytes,
    /// When the fan-out last wrote to the stream; `None` if it did not, or if it woke the task.
    pub wrote: Option<Instant>,
}

/// A handle with which the connection registers a stream's sink.
#[derive(Clone)]
pub struct Outlet(Arc<Subscriber>);

impl Fanout {
    /// Tells the fan-out that the log has new events.
    pub fn wake(&self) {
        if let Some(deliverer) = self.0.get() {
            deliverer.wake();
        }
    }

    /// Registers a stream.
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
    /// Returns the handle for the connection that carries the stream. Until it is connected, each event wakes the
    /// task.
    pub fn outlet(&self) -> Outlet {
        Outlet(Arc::clone(&self.subscriber))
    }

    /// Lets the fan-out write the events after `cursor` to the stream, until [`Self::take`]. The caller must have
    /// written all earlier bytes. Returns `false` and changes nothing if there are already events after `cursor`.
    pub fn park(&self, cursor: Seq) -> bool {
        self.subscriber.park(cursor, || self.log.head())
    }

    /// Waits until the fan-out wakes the stream's task. Cancel safe.
    pub async fn called(&self) {
        self.subscriber.called().await;
    }

    /// Ends [`Self::park`]. Returns how far the fan-out has written.
    pub fn take(&self) -> Taken {
        // Events up to `seen` were written to the stream, or were not for it.
        self.subscriber.take(self.deliverer.seen())
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.deliverer.remove(&self.topic, self.key);
    }
}

impl Outlet {
    /// Sets the destination of the stream's bytes.
    pub fn connect(&self, sink: Arc<dyn Sink>) {
        self.0.connect(sink);
    }
}

#[cfg(test)]
pub(crate) mod tests;
