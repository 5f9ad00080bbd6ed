//! The order of a process's events: a later one is handled after those before it.
//!
//! After the hub stood still, for example because the machine slept, it reads at once what agents reported meanwhile.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use hub_protocol::Process;
use tokio::sync::Notify;

use crate::sync::lock;

/// From this age on, in microseconds, an event counts as delayed: its process may have reported others since.
const DELAYED: u64 = 200_000;
/// A delayed event, and one after it, waits this long for the others, which are read at the same time.
const GATHER: Duration = Duration::from_millis(20);
/// The longest wait for an event before it, which a request that is not answered must not block.
const PATIENCE: Duration = Duration::from_secs(1);

/// The number of a process and its start.
type EventSource = (u32, Option<u64>);
/// When an event happened, and the number of its request.
type EventPlace = (u64, u64);

/// The events that are being handled.
#[derive(Default)]
pub struct EventOrder {
    open: Mutex<OpenEvents>,
    ended: Notify,
}

#[derive(Default)]
struct OpenEvents {
    events: HashMap<EventSource, BTreeSet<EventPlace>>,
    requests: u64,
}

/// An event's turn: the next one of its process waits until this is dropped.
pub struct EventTurn<'a> {
    order: &'a EventOrder,
    process: EventSource,
    place: EventPlace,
}

impl EventOrder {
    /// Waits until no earlier event of the process is being handled. `at` and `now` are microseconds since the machine
    /// started; an event does not happen after it is received.
    pub async fn turn(&self, process: &Process, at: u64, now: u64) -> EventTurn<'_> {
        let turn = self.enter(process, at.min(now));
        if now.saturating_sub(at) > DELAYED || !self.is_first(&turn) {
            tokio::time::sleep(GATHER).await;
        }
        let first = async {
            loop {
                let ended = self.ended.notified();
                tokio::pin!(ended);
                ended.as_mut().enable();
                if self.is_first(&turn) {
                    return;
                }
                ended.await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, first).await;
        turn
    }

    fn enter(&self, process: &Process, at: u64) -> EventTurn<'_> {
        let process = (process.pid, process.started);
        let mut open = lock(&self.open);
        open.requests += 1;
        let place = (at, open.requests);
        open.events.entry(process).or_default().insert(place);
        EventTurn {
            order: self,
            process,
            place,
        }
    }

    fn is_first(&self, turn: &EventTurn<'_>) -> bool {
        let open = lock(&self.open);
        let events = open.events.get(&turn.process);
        events.and_then(BTreeSet::first) == Some(&turn.place)
    }
}

impl Drop for EventTurn<'_> {
    fn drop(&mut self) {
        let mut open = lock(&self.order.open);
        if let Some(events) = open.events.get_mut(&self.process) {
            events.remove(&self.place);
            if events.is_empty() {
                open.events.remove(&self.process);
            }
        }
        drop(open);
        self.order.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn events_of_a_process_are_handled_in_the_order_in_which_they_happened() {
        let order = EventOrder::default();
        let process = Process::running(std::process::id());
        let handled = Mutex::new(Vec::new());
        let handle = async |at: u64| {
            let _turn = order.turn(&process, at, 10_000_000).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            lock(&handled).push(at);
        };
        // The last one is not delayed, but it is read while earlier ones are.
        tokio::join!(handle(3), handle(1), handle(9_999_999), handle(2));
        assert_eq!(*lock(&handled), [1, 2, 3, 9_999_999]);
        assert!(lock(&order.open).events.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_is_not_answered_blocks_only_its_own_process_and_not_for_ever() {
        let order = EventOrder::default();
        let process = Process::running(std::process::id());
        let _first = order.turn(&process, 1, 10).await;
        let _second = order.turn(&process, 2, 10).await;
        let other = Process {
            pid: 1,
            ..process.clone()
        };
        let began = tokio::time::Instant::now();
        let _third = order.turn(&other, 3, 10).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
