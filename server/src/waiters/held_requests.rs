//! Hook requests that are held until their questions are answered.

use std::collections::{BTreeSet, HashMap};

use hub_protocol::Seq;
use tokio::sync::oneshot;

/// The held requests of each question. A request with a broken connection no longer counts.
#[derive(Debug, Default)]
pub(super) struct HeldRequests(HashMap<Seq, Vec<oneshot::Sender<()>>>);

impl HeldRequests {
    /// Holds a request for this question. Closing the other end of `request` releases it.
    pub(super) fn add(&mut self, id: Seq, request: oneshot::Sender<()>) {
        self.0.retain(|_, requests| {
            requests.retain(|request| !request.is_closed());
            !requests.is_empty()
        });
        self.0.entry(id).or_default().push(request);
    }

    pub(super) fn contains(&self, id: Seq) -> bool {
        let requests = self.0.get(&id).into_iter().flatten();
        requests.into_iter().any(|request| !request.is_closed())
    }

    /// Returns the questions for which a request is held.
    pub(super) fn ids(&self) -> BTreeSet<Seq> {
        let held = |id: &Seq| self.contains(*id);
        self.0.keys().copied().filter(held).collect()
    }
}
