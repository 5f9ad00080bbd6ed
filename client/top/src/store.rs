//! The data of the hub: needs and sessions.

use hub_protocol::{About, Need, Session, Sessions, Timestamp};
use serde::Deserialize;

#[cfg(test)]
pub(crate) mod fixture;

/// The answer to `GET /dashboard`.
#[derive(Debug, Deserialize)]
pub(crate) struct FirstView {
    pub(crate) hub: About,
    sessions: Sessions,
    needs: Vec<Need>,
    /// The first needs with all that they say.
    wholes: Vec<Need>,
}

/// The hub's state, as far as it is shown.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) sessions: Vec<Session>,
    pub(crate) needs: Vec<Need>,
    /// The hub's clock minus this machine's, in ms.
    ahead: i64,
}

impl Store {
    /// Replaces everything by a first view that arrived at `now` of this machine's clock.
    pub(crate) fn load(&mut self, view: FirstView, now: Timestamp) {
        self.sessions = view.sessions.sessions;
        self.needs = view.needs;
        for need in view.wholes {
            self.complete(need);
        }
        self.ahead = view.hub.now.as_millis() - now.as_millis();
    }

    /// Replaces the needs, and keeps all that was loaded of those that say the same as before.
    pub(crate) fn set_needs(&mut self, needs: Vec<Need>) {
        for known in std::mem::replace(&mut self.needs, needs) {
            self.complete(known);
        }
    }

    /// Adds all that a need says, unless it says something else by now.
    pub(crate) fn complete(&mut self, whole: Need) {
        let is_same = |it: &&mut Need| it.id == whole.id && it.revision == whole.revision;
        if let Some(need) = self.needs.iter_mut().find(is_same) {
            need.whole = whole.whole;
        }
    }

    /// The open need `id`.
    pub(crate) fn need(&self, id: &str) -> Option<&Need> {
        let mut open = self.needs.iter().filter(|it| it.is_open());
        open.find(|it| it.id == id)
    }

    /// The time of the hub's clock at `now` of this machine's clock.
    pub(crate) fn hub_time(&self, now: Timestamp) -> Timestamp {
        now.plus_millis(self.ahead)
    }
}
