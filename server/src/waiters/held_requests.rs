//! Hook requests that are held until their questions are answered.

use std::collections::{BTreeSet, HashMap};

use hub_protocol::{Seq, Timestamp};
use tokio::sync::{oneshot, watch};

/// The held requests of each question. A request with a broken connection no longer counts.
#[derive(Debug, Default)]
pub(super) struct HeldRequests(HashMap<Seq, Vec<HeldRequest>>);

/// A held request: its connection, and the end of the time for an answer.
#[derive(Debug)]
struct HeldRequest {
    open: oneshot::Sender<()>,
    until: Timestamp,
}

/// Keeps a request held. Wherever it is dropped, also before the request's own task has got it, no reader of presence finds
/// the request any more.
#[derive(Debug)]
#[must_use]
pub struct Held {
    request: oneshot::Receiver<()>,
    presence: watch::Sender<u64>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.request.close();
        self.presence.send_modify(|version| *version += 1);
    }
}

impl HeldRequests {
    /// Holds a request for this question until then, or until the guard is dropped.
    pub(super) fn add(&mut self, id: Seq, until: Timestamp, presence: watch::Sender<u64>) -> Held {
        let (open, request) = oneshot::channel();
        self.0.retain(|_, requests| {
            requests.retain(|request| !request.open.is_closed());
            !requests.is_empty()
        });
        let held = HeldRequest { open, until };
        self.0.entry(id).or_default().push(held);
        Held { request, presence }
    }

    pub(super) fn contains(&self, id: Seq) -> bool {
        self.until(id).is_some()
    }

    /// Returns until when a request is held for this question.
    pub(super) fn until(&self, id: Seq) -> Option<Timestamp> {
        let requests = self.0.get(&id).into_iter().flatten();
        let open = requests.filter(|request| !request.open.is_closed());
        open.map(|request| request.until).max()
    }

    /// Returns the questions for which a request is held.
    pub(super) fn ids(&self) -> BTreeSet<Seq> {
        let held = |id: &Seq| self.contains(*id);
        self.0.keys().copied().filter(held).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_the_guard_anywhere_releases_the_request_and_tells_the_watchers() {
        let presence = watch::Sender::new(0);
        let mut held = HeldRequests::default();
        let until = Timestamp::now();
        let guard = held.add(7, until, presence.clone());
        assert_eq!((held.until(7), held.ids().len()), (Some(until), 1));
        drop(guard);
        assert_eq!(*presence.borrow(), 1);
        assert_eq!((held.contains(7), held.ids().len()), (false, 0));
    }
}
