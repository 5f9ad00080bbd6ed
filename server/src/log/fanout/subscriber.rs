//! The fan-out's side of one stream.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use hub_protocol::Seq;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Choose, Sink, Taken};
use crate::log::{Event, Log};

/// The most bytes that the fan-out writes at once; the stream's task writes longer ones.
const BATCH_BYTES: usize = 64 << 10;

pub(super) struct Subscriber {
    choose: Choose,
    sink: OnceLock<Arc<dyn Sink>>,
    place: Mutex<Place>,
    call: Notify,
}

/// The state of a stream.
enum Place {
    /// Its task reads the log.
    Away,
    /// It has sent everything up to `cursor`, and the fan-out writes the next events.
    Parked { cursor: Seq, wrote: Option<Instant> },
    /// Its task was woken. It must write `rest`, and then read the log after `cursor`.
    Called { cursor: Seq, rest: Bytes },
}

/// Events that are offered to many streams, one after the other.
pub(super) struct Batch<'a> {
    pub(super) events: &'a [Arc<Event>],
    pub(super) now: Instant,
    /// A reused buffer, to write several frames at once.
    pub(super) buffer: Vec<u8>,
}

impl Subscriber {
    pub(super) fn new(choose: Choose) -> Self {
        Self {
            choose,
            sink: OnceLock::new(),
            place: Mutex::new(Place::Away),
            call: Notify::new(),
        }
    }

    pub(super) fn connect(&self, sink: Arc<dyn Sink>) {
        let _ = self.sink.set(sink);
    }

    /// Parks the stream at `cursor`, unless `head` is beyond it. It reads the head under the lock: any event that the
    /// fan-out offered before has already moved the head, and any later one finds the stream parked.
    pub(super) fn park(&self, cursor: Seq, head: impl FnOnce() -> Seq) -> bool {
        let mut place = self.place();
        // A stream that read from memory may be ahead of the head.
        let up_to_date = head() <= cursor;
        if up_to_date {
            *place = Place::Parked {
                cursor,
                wrote: None,
            };
        }
        up_to_date
    }

    pub(super) async fn called(&self) {
        self.call.notified().await;
    }

    /// Ends parking. The fan-out has offered every event up to `seen` while the stream was parked.
    pub(super) fn take(&self, seen: Seq) -> Taken {
        match std::mem::replace(&mut *self.place(), Place::Away) {
            Place::Parked { cursor, wrote } => Taken {
                cursor: cursor.max(seen),
                rest: Bytes::new(),
                wrote,
            },
            Place::Called { cursor, rest } => Taken {
                cursor,
                rest,
                wrote: None,
            },
            Place::Away => Taken::default(),
        }
    }

    /// Wakes the task of a parked stream, to read the log itself.
    pub(super) fn call(&self) {
        let mut place = self.place();
        if let Place::Parked { cursor, .. } = *place {
            self.call_at(&mut place, cursor, Bytes::new());
        }
    }

    /// Writes the new events to the stream, if it is parked.
    pub(super) fn deliver(&self, log: &Log, batch: &mut Batch<'_>) {
        let mut place = self.place();
        let Place::Parked { cursor, wrote } = &mut *place else {
            return;
        };
        let before = *cursor;
        let fresh = batch.events.iter().filter(|event| event.seq() > before);
        let mut frames = fresh.filter_map(|event| (self.choose)(log, event));
        let last = batch
            .events
            .last()
            .map_or(before, |it| it.seq().max(before));
        let Some(first) = frames.next() else {
            *cursor = last;
            return;
        };
        let bytes = match frames.next() {
            None => first.as_ref(),
            Some(second) => {
                batch.buffer.clear();
                for frame in [first, second].into_iter().chain(frames) {
                    batch.buffer.extend_from_slice(frame);
                    if batch.buffer.len() > BATCH_BYTES {
                        break;
                    }
                }
                batch.buffer.as_slice()
            }
        };
        if bytes.len() > BATCH_BYTES {
            return self.call_at(&mut place, before, Bytes::new());
        }
        let taken = self.sink.get().map_or(0, |sink| sink.offer(bytes));
        if taken == bytes.len() {
            (*cursor, *wrote) = (last, Some(batch.now));
        } else {
            let rest = Bytes::copy_from_slice(&bytes[taken..]);
            self.call_at(&mut place, last, rest);
        }
    }

    fn call_at(&self, place: &mut Place, cursor: Seq, rest: Bytes) {
        *place = Place::Called { cursor, rest };
        self.call.notify_one();
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
