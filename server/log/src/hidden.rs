//! The notifications and words hidden by a reset with history.
//!
//! The log is never rewritten. The `Reset` record says that its project's notifications below it are no longer shown.
//! The fold keeps that number until retention has passed it, and readers of the log ask `Log::hides`.

use std::collections::HashMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hub_core::record::Record;
use hub_core::sync;
use hub_protocol::{ProjectName, Seq};

use super::Event;

/// The number below which each project's notifications are hidden.
#[derive(Debug, Default)]
pub(super) struct HiddenProjects {
    /// The highest of these numbers. Newer events skip the lookup.
    newest: AtomicU64,
    below: RwLock<HashMap<ProjectName, Seq>>,
}

impl HiddenProjects {
    pub(super) fn hide(&self, project: &ProjectName, below: Seq) {
        let mut hidden = sync::write(&self.below);
        hidden.insert(project.clone(), below);
        self.newest.fetch_max(below, Ordering::Release);
    }

    pub(super) fn hides(&self, event: &Event) -> bool {
        if event.seq() >= self.newest.load(Ordering::Acquire) {
            return false;
        }
        let project = match event.record() {
            Some(Record::Notified(it)) => &it.route.project,
            Some(Record::TurnNoted(it)) => &it.project,
            _ => return false,
        };
        let hidden = sync::read(&self.below);
        let below = hidden.get(project);
        below.is_some_and(|below| event.seq() < *below)
    }
}
