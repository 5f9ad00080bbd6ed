//! Hook requests that are held until their questions are answered.

use std::collections::{BTreeSet, HashMap};

use hub_protocol::{Seq, Timestamp};
use tokio::sync::oneshot;

/// The held requests of each question. A request with a broken connection no longer counts.
#[derive(Debug, Default)]
pub(super) struct HeldRequests(HashMap<Seq, Vec<HeldRequest>>);

/// A held request: its connection, and the end of the time for an answer.
#[derive(Debug)]
struct HeldRequest {
    open: oneshot::Sender<()>,
    until: Timestamp,
}

impl HeldRequests {
    /// Holds a request for this question until then. Closing the other end of `open` releases it.
    pub(super) fn add(&mut self, id: Seq, open: oneshot::Sender<()>, until: Timestamp) {
        self.0.retain(|_, requests| {
            requests.retain(|request| !request.open.is_closed());
            !requests.is_empty()
        });
        let request = HeldRequest { open, until };
        self.0.entry(id).or_default().push(request);
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
