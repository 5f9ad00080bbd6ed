//! History hidden by resets: the log keeps it until retention drops it, but readers do not show it.

use std::collections::BTreeMap;

use hub_protocol::{ProjectName, Seq};
use serde::{Deserialize, Serialize};

use super::State;

/// For each project the number below which its notifications are hidden; only while the log still holds some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Hidden {
    below: BTreeMap<ProjectName, Seq>,
}

impl Hidden {
    pub(super) fn hide(&mut self, project: &ProjectName, below: Seq) {
        self.below.insert(project.clone(), below);
    }

    /// Forgets projects whose hidden notifications are no longer in the log.
    pub(super) fn trim(&mut self, below: Seq) {
        self.below.retain(|_, hidden| *hidden > below);
    }
}

impl State {
    /// Returns the projects with hidden notifications, each with the first number that is visible.
    pub fn hidden(&self) -> impl Iterator<Item = (&ProjectName, Seq)> {
        self.hidden
            .below
            .iter()
            .map(|(project, below)| (project, *below))
    }
}
