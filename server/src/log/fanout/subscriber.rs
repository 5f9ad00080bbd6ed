//! One stream as the fan-out sees it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use hub_protocol::Seq;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Choose, Sink, Taken};
use crate::log::{Event, Log};

/// What is longer than this is left to the stream's task, which takes its time.
const BATCH_BYTES: usize = 64 << 10;

pub(super) struct Subscriber {
    choose: Choose,
    sink: OnceLock<Arc<dyn Sink>>,
    place: Mutex<Place>,
    call: Notify,
}

/// Where a stream stands.
enum Place {
    /// Its task reads by itself.
    Away,
    /// It has everything up to `cursor`; what comes is written for it.
    Parked { cursor: Seq, wrote: Option<Instant> },
    /// Its task must go on: with `rest`, then after `cursor`.
    Called { cursor: Seq, rest: Bytes },
}

/// Events that are offered to many, one after the other.
pub(super) struct Batch<'a> {
    pub(super) events: &'a [Arc<Event>],
    pub(super) now: Instant,
    /// Room for several frames in a row.
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

    /// Parks the stream at `cursor`, unless `head` is beyond. Looked at under the lock: who has passed this stream by with
    /// what comes after `cursor` moved the head before, and who comes later finds it parked.
    pub(super) fn park(&self, cursor: Seq, head: impl FnOnce() -> Seq) -> bool {
        let mut place = self.place();
        // Who read from memory may be ahead of the head.
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

    /// Takes the stream out of the hands of the fan-out, which has passed everything up to `seen` while it was parked.
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

    /// Leaves it to the task to find out what is new.
    pub(super) fn call(&self) {
        let mut place = self.place();
        if let Place::Parked { cursor, .. } = *place {
            self.call_at(&mut place, cursor, Bytes::new());
        }
    }

    /// Writes what is new to the stream and for it, if it is parked.
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
