//! The limit of open connections, and eviction of idle ones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hub_config::Positive;
use hub_core::sync;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Interval at which eviction is retried. A busy connection may become idle at any time, and an evicted one takes a
/// moment to close.
const EVICTION_RETRY: Duration = Duration::from_secs(1);

/// Slots for connections of one kind. When all are taken, a new connection evicts the oldest that has no request, or
/// only one that needs no token. So neither silence nor an unfinished sign-in can keep requests out.
#[derive(Debug, Clone)]
pub(super) struct ConnectionSlots {
    room: Arc<Semaphore>,
    /// Cuts all connections.
    cut: CancellationToken,
    open: Arc<Mutex<OpenConnections>>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    last: u64,
    /// By id, which is the order of their arrival.
    connections: BTreeMap<u64, ConnectionStatus>,
}

/// State shared by the parts of a connection: the guard, the bodies and the slot.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionStatus(Arc<StatusFlags>);

#[derive(Debug, Default)]
struct StatusFlags {
    /// Number of answers under way and of stalled writes.
    busy: AtomicU32,
    /// Whether the current request needs no token.
    anonymous: AtomicBool,
    /// Whether the current request is answered at once. Then the end of the client's input does not mean that the
    /// client is gone.
    prompt: AtomicBool,
    /// Whether the client's input has ended.
    ended: AtomicBool,
    /// Cuts the connection: its slot is needed, or it does not end by itself at shutdown.
    cut: CancellationToken,
}

/// The slot of one connection, freed when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    id: u64,
    status: ConnectionStatus,
    open: Arc<Mutex<OpenConnections>>,
    _room: OwnedSemaphorePermit,
}

impl ConnectionSlots {
    pub(super) fn new(cap: Positive, cut: CancellationToken) -> Self {
        Self {
            room: Arc::new(Semaphore::new(cap.get() as usize)),
            cut,
            open: Arc::default(),
        }
    }

    /// Waits for a free slot.
    pub(super) async fn take(&self) -> Slot {
        let room = self.room().await;
        let mut open = sync::lock(&self.open);
        open.last += 1;
        let flags = StatusFlags {
            cut: self.cut.child_token(),
            ..StatusFlags::default()
        };
        let (id, status) = (open.last, ConnectionStatus(Arc::new(flags)));
        open.connections.insert(id, status.clone());
        drop(open);
        Slot {
            id,
            status,
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
            if let Ok(room) = tokio::time::timeout(EVICTION_RETRY, next).await {
                return room.expect("the semaphore is never closed");
            }
        }
    }

    fn evict(&self) {
        let mut open = sync::lock(&self.open);
        let mut idle = open
            .connections
            .iter()
            .filter(|(_, status)| !status.is_protected());
        if let Some(id) = idle.next().map(|(id, _)| *id)
            && let Some(status) = open.connections.remove(&id)
        {
            status.0.cut.cancel();
        }
    }
}

impl Slot {
    pub(super) fn status(&self) -> &ConnectionStatus {
        &self.status
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        sync::lock(&self.open).connections.remove(&self.id);
    }
}

impl ConnectionStatus {
    /// Marks the connection as busy until the result is dropped.
    pub(super) fn occupy(&self) -> BusyGuard {
        self.0.busy.fetch_add(1, Ordering::Relaxed);
        BusyGuard(self.clone())
    }

    /// Records of a new request whether it needs no token, and whether it is answered at once.
    pub(super) fn begin_request(&self, anonymous: bool, prompt: bool) {
        self.0.anonymous.store(anonymous, Ordering::Relaxed);
        self.0.prompt.store(prompt, Ordering::Relaxed);
    }

    pub(super) fn is_busy(&self) -> bool {
        self.0.busy.load(Ordering::Relaxed) > 0
    }

    /// Whether it must not be evicted, because an authorized client is being answered.
    fn is_protected(&self) -> bool {
        self.is_busy() && !self.0.anonymous.load(Ordering::Relaxed)
    }

    /// Cancelled when the connection has to close at once.
    pub(super) fn cut(&self) -> &CancellationToken {
        &self.0.cut
    }

    /// Whether the client may still want the current answer although its input has ended. Records that end if so.
    pub(super) fn note_end_of_input(&self) -> bool {
        let waits = self.is_busy() && self.0.prompt.load(Ordering::Relaxed);
        self.0.ended.fetch_or(waits, Ordering::Relaxed);
        waits
    }

    /// Whether the client's input has ended.
    pub(super) fn input_has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Relaxed)
    }
}

/// A mark that the connection is busy.
#[derive(Debug)]
pub(super) struct BusyGuard(ConnectionStatus);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_idle_or_anonymous_connection_is_evicted() {
        for anonymous in [false, true] {
            let slots = ConnectionSlots::new(Positive::new(2).unwrap(), CancellationToken::new());
            let (talking, other) = (slots.take().await, slots.take().await);
            let _busy = talking.status().occupy();
            let _anonymous = anonymous.then(|| other.status().occupy());
            if anonymous {
                other.status().begin_request(true, true);
            }
            let newcomer = tokio::spawn({
                let slots = slots.clone();
                async move { slots.take().await }
            });
            tokio::select! {
                () = other.status().cut().cancelled() => {}
                () = talking.status().cut().cancelled() => panic!("a request was cut"),
            }
            drop(other);
            newcomer.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_connection_that_becomes_idle_is_evicted_for_one_that_waits() {
        let slots = ConnectionSlots::new(Positive::new(1).unwrap(), CancellationToken::new());
        let only = slots.take().await;
        let busy = only.status().occupy();
        let waiting = slots.take();
        let silence = async {
            tokio::task::yield_now().await;
            drop(busy);
            only.status().cut().cancelled().await;
            drop(only);
        };
        let both = async { tokio::join!(waiting, silence) };
        let made = tokio::time::timeout(Duration::from_secs(20), both).await;
        made.expect("room is made");
    }
}
