//! Reset: empties a project. Its history can be hidden: the log keeps it until retention drops it, but readers do not
//! show it.

use std::collections::BTreeMap;

use hub_protocol::{ProjectName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::State;
use super::status::settled;
use crate::record::{Record, Reset, SettleReason};

/// For each project the number below which its notifications are hidden; only while the log still holds some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HiddenHistory {
    below: BTreeMap<ProjectName, Seq>,
}

impl HiddenHistory {
    /// Returns the projects with hidden notifications, each with the first number that is visible.
    pub fn iter(&self) -> impl Iterator<Item = (&ProjectName, Seq)> {
        self.below.iter().map(|(project, below)| (project, *below))
    }

    /// Forgets projects whose hidden notifications are no longer in the log.
    pub(super) fn trim(&mut self, below: Seq) {
        self.below.retain(|_, hidden| *hidden > below);
    }
}

impl State {
    pub(super) fn decide_reset(
        &self,
        project: &ProjectName,
        history: bool,
        now: Timestamp,
    ) -> Vec<Record> {
        let inboxes = self.inboxes.iter(Some(project));
        let pending = inboxes.flat_map(|(_, _, inbox)| inbox.pending());
        let pending = pending.map(|item| item.seq).collect();
        let mut records = self.questions.withdrawn_with(project, now);
        records.extend(settled(pending, None, SettleReason::Dropped, None, now));
        records.push(Record::Reset(Reset {
            project: project.clone(),
            history,
            at: now,
        }));
        records
    }

    pub(super) fn apply_reset(&mut self, seq: Seq, record: &Reset) {
        let project = &record.project;
        for id in self.inboxes.close_all(project) {
            self.settle(id, SettleReason::Dropped);
        }
        self.sessions.forget_all(project);
        self.listeners.forget_all(project);
        self.sources.forget_all(project);
        self.rules.forget_all(project);
        if record.history {
            self.questions.forget_all(project);
            self.forget_locations();
            self.hidden.below.insert(project.clone(), seq);
        } else {
            // Each withdrawn question has its own record; this line is for logs from before such records existed.
            self.questions.withdraw_all(project);
        }
    }
}
