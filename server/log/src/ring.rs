//! The ring: the newest events, in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use hub_protocol::Seq;

use super::Event;

/// The number of events kept in memory, at about 1 KiB each; more than a live reader falls behind in a burst.
const RING_EVENTS: usize = 4096;
/// The most payload bytes kept in memory, for large events.
const RING_BYTES: usize = 8 << 20;

#[derive(Debug, Default)]
pub(super) struct Ring {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
}

impl Ring {
    pub(super) fn push(&mut self, events: &[Arc<Event>]) {
        for event in events {
            self.bytes += event.entry().payload.len();
            self.events.push_back(Arc::clone(event));
        }
        let is_full = |ring: &Self| {
            ring.events.len() > RING_EVENTS || (ring.bytes > RING_BYTES && ring.events.len() > 1)
        };
        while is_full(self)
            && let Some(oldest) = self.events.pop_front()
        {
            self.bytes -= oldest.entry().payload.len();
        }
    }

    /// Returns up to `max` events after `after`; `None` if the ring no longer contains the first of them. `head`
    /// returns the head of the log, where an empty ring begins.
    pub(super) fn after(
        &self,
        after: Seq,
        max: usize,
        head: impl FnOnce() -> Seq,
    ) -> Option<Vec<Arc<Event>>> {
        let first = self
            .events
            .front()
            .map_or_else(|| head() + 1, |event| event.seq());
        let skip = usize::try_from((after + 1).checked_sub(first)?).ok()?;
        Some(self.events.iter().skip(skip).take(max).cloned().collect())
    }
}
