//! The fan-out's side of one stream.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use bytes::Bytes;
use hub_core::sync;
use hub_protocol::Seq;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{FrameFilter, Sink, StreamProgress};
use crate::{Event, Log};

/// The most bytes that the fan-out writes at once; the stream's task writes longer ones.
const BATCH_BYTES: usize = 64 << 10;

pub(super) struct Subscriber {
    frame_of: FrameFilter,
    sink: OnceLock<Arc<dyn Sink>>,
    state: Mutex<StreamState>,
    wake: Notify,
}

/// The state of a stream.
enum StreamState {
    /// Its task reads the log.
    Active,
    /// It has sent everything up to `cursor`, and the fan-out writes the next events.
    Parked {
        cursor: Seq,
        last_write: Option<Instant>,
    },
    /// Its task was woken. It must write `unsent`, and then read the log after `cursor`.
    Woken { cursor: Seq, unsent: Bytes },
}

/// Events that are offered to many streams, one after the other.
pub(super) struct EventBatch<'a> {
    pub(super) events: &'a [Arc<Event>],
    pub(super) now: Instant,
    /// A reused buffer, to write several frames at once.
    pub(super) buffer: Vec<u8>,
}

impl Subscriber {
    pub(super) fn new(filter: FrameFilter) -> Self {
        Self {
            frame_of: filter,
            sink: OnceLock::new(),
            state: Mutex::new(StreamState::Active),
            wake: Notify::new(),
        }
    }

    pub(super) fn connect(&self, sink: Arc<dyn Sink>) {
        let _ = self.sink.set(sink);
    }

    /// Parks the stream at `cursor`, unless `head` is beyond it. It reads the head under the lock: any event that the
    /// fan-out offered before has already moved the head, and any later one finds the stream parked.
    pub(super) fn park(&self, cursor: Seq, head: impl FnOnce() -> Seq) -> bool {
        let mut state = self.state();
        // A stream that read from memory may be ahead of the head.
        let up_to_date = head() <= cursor;
        if up_to_date {
            *state = StreamState::Parked {
                cursor,
                last_write: None,
            };
        }
        up_to_date
    }

    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Ends parking. The fan-out has offered every event up to `seen` while the stream was parked.
    pub(super) fn unpark(&self, seen: Seq) -> StreamProgress {
        match std::mem::replace(&mut *self.state(), StreamState::Active) {
            StreamState::Parked { cursor, last_write } => StreamProgress {
                cursor: cursor.max(seen),
                unsent: Bytes::new(),
                last_write,
            },
            StreamState::Woken { cursor, unsent } => StreamProgress {
                cursor,
                unsent,
                last_write: None,
            },
            StreamState::Active => StreamProgress::default(),
        }
    }

    /// Wakes the task of a parked stream, to read the log itself.
    pub(super) fn wake(&self) {
        let mut state = self.state();
        if let StreamState::Parked { cursor, .. } = *state {
            self.wake_at(&mut state, cursor, Bytes::new());
        }
    }

    /// Writes the new events to the stream, if it is parked.
    pub(super) fn deliver(&self, log: &Log, batch: &mut EventBatch<'_>) {
        let mut state = self.state();
        let StreamState::Parked { cursor, last_write } = &mut *state else {
            return;
        };
        let before = *cursor;
        let fresh = batch.events.iter().filter(|event| event.seq() > before);
        let mut frames = fresh.filter_map(|event| (self.frame_of)(log, event));
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
            return self.wake_at(&mut state, before, Bytes::new());
        }
        let taken = self.sink.get().map_or(0, |sink| sink.offer(bytes));
        if taken == bytes.len() {
            (*cursor, *last_write) = (last, Some(batch.now));
        } else {
            let unsent = Bytes::copy_from_slice(&bytes[taken..]);
            self.wake_at(&mut state, last, unsent);
        }
    }

    fn wake_at(&self, state: &mut StreamState, cursor: Seq, unsent: Bytes) {
        *state = StreamState::Woken { cursor, unsent };
        self.wake.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, StreamState> {
        sync::lock(&self.state)
    }
}
