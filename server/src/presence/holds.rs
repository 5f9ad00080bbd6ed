//! Requests of agents' hooks that are held until somebody answers what they ask.

use std::collections::{BTreeSet, HashMap};

use hub_protocol::Seq;
use tokio::sync::oneshot;

/// Who holds which question open. A request that broke off holds nothing any more.
#[derive(Debug, Default)]
pub(super) struct Holds(HashMap<Seq, Vec<oneshot::Sender<()>>>);

impl Holds {
    /// A request holds this question for as long as it keeps the other end.
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

    /// The questions that are held.
    pub(super) fn ids(&self) -> BTreeSet<Seq> {
        let held = |id: &Seq| self.contains(*id);
        self.0.keys().copied().filter(held).collect()
    }
}
