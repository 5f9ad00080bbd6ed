//! Caps: how many connections, and how many of their requests may wait.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::config::Positive;

/// When to look again for a connection without a request: whoever has one now may soon have none, and whoever makes way
/// takes a moment to go.
const AGAIN: Duration = Duration::from_secs(1);

/// Room for connections of one kind. When it is full, the oldest connection without a request makes way: silence
/// cannot keep a request out.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    room: Arc<Semaphore>,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    last: u64,
    /// In the order of their arrival.
    connections: BTreeMap<u64, Line>,
}

/// What the parts of a connection know of each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Line(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Answers under way, and writes that stand still.
    busy: AtomicU32,
    two_lengths: AtomicBool,
    evicted: CancellationToken,
}

/// One connection's place, given back when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    id: u64,
    line: Line,
    open: Arc<Mutex<Open>>,
    _room: OwnedSemaphorePermit,
}

impl Slots {
    pub(super) fn new(cap: Positive) -> Self {
        Self {
            room: Arc::new(Semaphore::new(cap.get() as usize)),
            open: Arc::default(),
        }
    }

    /// A place, as soon as there is one.
    pub(super) async fn take(&self) -> Slot {
        let room = self.room().await;
        let mut open = lock(&self.open);
        open.last += 1;
        let (id, line) = (open.last, Line::default());
        open.connections.insert(id, line.clone());
        drop(open);
        Slot {
            id,
            line,
            open: self.open.clone(),
            _room: room,
        }
    }

    async fn room(&self) -> OwnedSemaphorePermit {
        if let Ok(room) = self.room.clone().try_acquire_owned() {
            return room;
        }
        loop {
            self.evict();
            let next = self.room.clone().acquire_owned();
            if let Ok(room) = tokio::time::timeout(AGAIN, next).await {
                return room.expect("the semaphore is never closed");
            }
        }
    }

    fn evict(&self) {
        let mut open = lock(&self.open);
        let mut idle = open.connections.iter().filter(|(_, line)| !line.is_busy());
        if let Some(id) = idle.next().map(|(id, _)| *id)
            && let Some(line) = open.connections.remove(&id)
        {
            line.0.evicted.cancel();
        }
    }
}

impl Slot {
    pub(super) fn line(&self) -> &Line {
        &self.line
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.open).connections.remove(&self.id);
    }
}

impl Line {
    /// Says that something is under way, until it is dropped.
    pub(super) fn occupy(&self) -> Busy {
        self.0.busy.fetch_add(1, Ordering::Relaxed);
        Busy(self.clone())
    }

    pub(super) fn is_busy(&self) -> bool {
        self.0.busy.load(Ordering::Relaxed) > 0
    }

    pub(super) async fn evicted(&self) {
        self.0.evicted.cancelled().await;
    }

    /// Says that the head that came has both Content-Length and Transfer-Encoding.
    pub(super) fn note_two_lengths(&self) {
        self.0.two_lengths.store(true, Ordering::Relaxed);
    }

    /// Whether that was said, and forgets it.
    pub(super) fn take_two_lengths(&self) -> bool {
        self.0.two_lengths.swap(false, Ordering::Relaxed)
    }
}

/// Something under way on a connection.
#[derive(Debug)]
pub(super) struct Busy(Line);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Poisoned or not: each change of the table is whole.
fn lock(open: &Mutex<Open>) -> std::sync::MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_silent_connection_makes_way() {
        let slots = Slots::new(Positive::new(2).unwrap());
        let (talking, silent) = (slots.take().await, slots.take().await);
        let _busy = talking.line().occupy();
        let newcomer = tokio::spawn({
            let slots = slots.clone();
            async move { slots.take().await }
        });
        tokio::select! {
            () = silent.line().evicted() => {}
            () = talking.line().evicted() => panic!("a request was cut"),
        }
        drop(silent);
        newcomer.await.unwrap();
    }

    #[tokio::test]
    async fn who_falls_silent_while_somebody_waits_for_room_makes_way() {
        let slots = Slots::new(Positive::new(1).unwrap());
        let only = slots.take().await;
        let busy = only.line().occupy();
        let waiting = slots.take();
        let silence = async {
            tokio::task::yield_now().await;
            drop(busy);
            only.line().evicted().await;
            drop(only);
        };
        let both = async { tokio::join!(waiting, silence) };
        let made = tokio::time::timeout(Duration::from_secs(20), both).await;
        made.expect("room is made");
    }
}
