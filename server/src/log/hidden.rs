//! What a reset with its history hid: readers leave it out, until retention drops it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use hub_protocol::{ProjectName, Seq};

use super::Event;

/// Below which number nothing that was said in a project is shown.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// The highest of these numbers: who reads what comes now looks no further.
    newest: AtomicU64,
    below: RwLock<HashMap<ProjectName, Seq>>,
}

impl Hidden {
    pub(super) fn hide(&self, project: &ProjectName, below: Seq) {
        let mut hidden = self.below.write().unwrap_or_else(PoisonError::into_inner);
        hidden.insert(project.clone(), below);
        self.newest.fetch_max(below, Ordering::Release);
    }

    pub(super) fn has(&self, event: &Event) -> bool {
        if event.seq() >= self.newest.load(Ordering::Acquire) {
            return false;
        }
        let Some(said) = event.notified() else {
            return false;
        };
        let hidden = self.below.read().unwrap_or_else(PoisonError::into_inner);
        let below = hidden.get(&said.route.project);
        below.is_some_and(|below| event.seq() < *below)
    }
}
