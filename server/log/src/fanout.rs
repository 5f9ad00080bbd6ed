//! The fan-out: one thread writes each new event to every waiting stream.
//!
//! A stream is a task with a cursor in the log. When it has sent everything it parks, and the fan-out writes the next
//! events to its socket; for the streams of an inbox, only if a record touched that inbox. For anything but a plain
//! write (a full socket, a cursor too far back, a keep-alive) the stream's task continues by itself.
//!
//! Measured: delivering an event to a reader costs one `write` of about 8 µs. Waking the reader's task for it costs
//! half as much again, so a wake for each reader takes 1.5 times the processor time. Frames that all streams share
//! save 15 % compared with axum's `Sse`. See `http/listener/stream.rs` for the memory of an idle stream.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hub_protocol::{InboxName, ProjectName, Seq};
use tokio::time::Instant;

use super::{Event, Log};
use subscriber::Subscriber;
use thread::FanoutThread;

mod subscriber;
mod thread;

/// The destination of a stream's bytes: its socket.
pub trait Sink: Send + Sync {
    /// Writes as many bytes as fit without blocking. Returns their number.
    fn offer(&self, bytes: &[u8]) -> usize;
}

/// Returns the shared frame of an event for this stream, or `None` if its filter drops the event.
pub type FrameFilter = Box<dyn for<'a> Fn(&Log, &'a Event) -> Option<&'a Bytes> + Send + Sync>;

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
pub struct Fanout(OnceLock<Arc<FanoutThread>>);

/// A stream's registration in the fan-out, removed on drop.
pub struct Subscription {
    log: Arc<Log>,
    thread: Arc<FanoutThread>,
    topic: Topic,
    key: usize,
    subscriber: Arc<Subscriber>,
}

/// The progress of a stream while it was parked.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StreamProgress {
    /// The last event that the stream has sent, once `unsent` is written.
    pub cursor: Seq,
    /// The bytes that did not fit into the socket.
    pub unsent: Bytes,
    /// When the fan-out last wrote to the stream; `None` if it did not, or if it woke the task.
    pub last_write: Option<Instant>,
}

/// A handle with which the connection registers a stream's sink.
#[derive(Clone)]
pub struct Outlet(Arc<Subscriber>);

impl Fanout {
    /// Tells the fan-out that the log has new events.
    pub fn wake(&self) {
        if let Some(thread) = self.0.get() {
            thread.wake();
        }
    }

    /// Registers a stream.
    pub fn join(&self, log: &Arc<Log>, topic: Topic, filter: FrameFilter) -> Subscription {
        let thread = self.0.get_or_init(|| FanoutThread::start(log));
        let subscriber = Arc::new(Subscriber::new(filter));
        let key = thread.add(topic.clone(), Arc::clone(&subscriber), log);
        Subscription {
            log: Arc::clone(log),
            thread: Arc::clone(thread),
            topic,
            key,
            subscriber,
        }
    }
}

impl Drop for Fanout {
    fn drop(&mut self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}

impl Subscription {
    /// Returns the handle for the connection that carries the stream. Until it is connected, each event wakes the
    /// task.
    pub fn outlet(&self) -> Outlet {
        Outlet(Arc::clone(&self.subscriber))
    }

    /// Lets the fan-out write the events after `cursor` to the stream, until [`Self::unpark`]. The caller must have
    /// written all earlier bytes. Returns `false` and changes nothing if there are already events after `cursor`.
    pub fn park(&self, cursor: Seq) -> bool {
        self.subscriber.park(cursor, || self.log.head())
    }

    /// Waits until the fan-out wakes the stream's task. Cancel safe.
    pub async fn woken(&self) {
        self.subscriber.woken().await;
    }

    /// Ends [`Self::park`]. Returns how far the fan-out has written.
    pub fn unpark(&self) -> StreamProgress {
        // Events up to `seen` were written to the stream, or were not for it.
        self.subscriber.unpark(self.thread.seen())
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.thread.remove(&self.topic, self.key);
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
