//! What a reset with its history hides: the log keeps it until retention drops it, and no reader shows it.

use std::collections::BTreeMap;

use hub_protocol::{ProjectName, Seq};
use serde::{Deserialize, Serialize};

use super::State;

/// Below which number nothing is shown that was said in a project; only what the log still holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Hidden {
    below: BTreeMap<ProjectName, Seq>,
}

impl Hidden {
    pub(super) fn hide(&mut self, project: &ProjectName, below: Seq) {
        self.below.insert(project.clone(), below);
    }

    /// Forgets what is no longer in the log.
    pub(super) fn trim(&mut self, below: Seq) {
        self.below.retain(|_, hidden| *hidden > below);
    }
}

impl State {
    /// The projects of which something in the log is hidden, each with the first number that is not.
    pub fn hidden(&self) -> impl Iterator<Item = (&ProjectName, Seq)> {
        self.hidden
            .below
            .iter()
            .map(|(project, below)| (project, *below))
    }
}
