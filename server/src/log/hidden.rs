//! The notifications hidden by a reset with history: readers skip them until retention drops them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use hub_protocol::{ProjectName, Seq};

use super::Event;

/// The number below which each project's notifications are hidden.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// The highest of these numbers. Newer events skip the lookup.
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
