//! Hook requests that are held until their questions are answered.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use hub_protocol::{Seq, Timestamp};
use tokio::sync::{oneshot, watch};

use crate::fold::HookConnection;

/// For how long a hub that has just started expects the hooks that an earlier one held. They look for it every 5 s.
const RETURN: Duration = Duration::from_secs(10);

/// The held requests of each question. A request with a broken connection no longer counts.
#[derive(Debug)]
pub(super) struct HeldRequests {
    held: HashMap<Seq, Vec<HeldRequest>>,
    /// The last record of an earlier hub, which may have held hooks, and until when these are expected.
    earlier: Seq,
    expected_until: Instant,
}

/// A held request and its connection.
#[derive(Debug)]
struct HeldRequest {
    open: oneshot::Sender<()>,
    time: HeldTime,
}

/// The time in which a request is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldTime {
    /// The end of the time for an answer.
    pub until: Timestamp,
    /// Whether the agent shows no dialog before it.
    pub delays: bool,
}

/// Keeps a request held. Wherever it is dropped, also before the request's own task has got it, no reader of presence finds
/// the request any more.
#[derive(Debug)]
#[must_use]
pub struct Held {
    request: oneshot::Receiver<()>,
    time: HeldTime,
    presence: watch::Sender<u64>,
}

impl Held {
    /// The time in which the request is held.
    pub fn time(&self) -> HeldTime {
        self.time
    }

    /// Returns once no reader of presence finds the request any more, because another hub of the cluster is active.
    pub async fn forgotten(&mut self) {
        let _ = (&mut self.request).await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.request.close();
        self.presence.send_modify(|version| *version += 1);
    }
}

impl HeldRequests {
    /// No held requests now, after this record of an earlier hub.
    pub(super) fn new(earlier: Seq, now: Instant) -> Self {
        Self {
            held: HashMap::new(),
            earlier,
            expected_until: now + RETURN,
        }
    }

    /// Holds a request for this question in this time, or until the guard is dropped.
    pub(super) fn add(&mut self, id: Seq, time: HeldTime, presence: watch::Sender<u64>) -> Held {
        let (open, request) = oneshot::channel();
        self.held.retain(|_, requests| {
            requests.retain(|request| !request.open.is_closed());
            !requests.is_empty()
        });
        let held = HeldRequest { open, time };
        self.held.entry(id).or_default().push(held);
        Held {
            request,
            time,
            presence,
        }
    }

    pub(super) fn contains(&self, id: Seq) -> bool {
        self.time(id).is_some()
    }

    /// Returns the ends of the times for an answer.
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        let requests = self.held.values_mut().flatten();
        requests.map(|request| &mut request.time.until)
    }

    /// Returns the time in which a request is held for this question.
    pub(super) fn time(&self, id: Seq) -> Option<HeldTime> {
        let requests = self.held.get(&id).into_iter().flatten();
        let open = requests.filter(|request| !request.open.is_closed());
        open.map(|request| request.time).max()
    }

    /// Returns whether the hook of this question is connected.
    pub(super) fn connection(&self, id: Seq, now: Instant) -> HookConnection {
        if self.contains(id) {
            HookConnection::Held
        } else if id <= self.earlier && now < self.expected_until {
            HookConnection::Expected
        } else {
            HookConnection::Gone
        }
    }

    /// Returns until when hooks are expected that an earlier hub held.
    pub(super) fn expected_until(&self) -> Instant {
        self.expected_until
    }

    /// Returns the questions for which a request is held.
    pub(super) fn ids(&self) -> BTreeSet<Seq> {
        let held = |id: &Seq| self.contains(*id);
        self.held.keys().copied().filter(held).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_the_guard_anywhere_releases_the_request_and_tells_the_watchers() {
        let presence = watch::Sender::new(0);
        let mut held = HeldRequests::new(0, Instant::now());
        let time = HeldTime {
            until: Timestamp::now(),
            delays: false,
        };
        let guard = held.add(7, time, presence.clone());
        assert_eq!((held.time(7), held.ids().len()), (Some(time), 1));
        drop(guard);
        assert_eq!(*presence.borrow(), 1);
        assert_eq!((held.contains(7), held.ids().len()), (false, 0));
    }

    #[test]
    fn only_the_hooks_of_an_earlier_hub_are_expected() {
        let now = Instant::now();
        let held = HeldRequests::new(7, now);
        assert_eq!(held.connection(7, now), HookConnection::Expected);
        assert_eq!(held.connection(8, now), HookConnection::Gone);
        assert_eq!(held.connection(7, now + RETURN), HookConnection::Gone);
    }
}
