//! Sources: senders that never reported a state.

use hub_protocol::{ProjectName, Seq, Source, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ByProject, State};
use crate::record::Route;

/// The most sources in one project; the one that was silent for longest is forgotten first.
const MAX_SOURCES: usize = 1_000;

/// The time and number of each source's last notification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SourceTable(ByProject<(Timestamp, Seq)>);

impl SourceTable {
    pub(super) fn note(&mut self, seq: Seq, route: &Route) {
        let last = (route.ts, seq);
        if let Some(known) = self
            .0
            .get_mut(&route.project)
            .and_then(|it| it.get_mut(&route.from))
        {
            *known = last;
            return;
        }
        let sources = self.0.entry(route.project.clone()).or_default();
        sources.insert(route.from.clone(), last);
        if sources.len() > MAX_SOURCES {
            let oldest = sources.iter().min_by_key(|(_, (_, seq))| *seq);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                sources.remove(&name);
            }
        }
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        self.0.remove(project);
    }
}

impl State {
    /// Returns the senders of one project, or of all, that are not sessions.
    pub fn sources(&self, project: Option<&ProjectName>) -> Vec<Source> {
        let of = |(other, _): &(&ProjectName, _)| project.is_none_or(|it| it == *other);
        let sources = self.sources.0.iter().filter(of);
        let all = sources.flat_map(|(project, names)| {
            names.iter().map(move |(name, (ts, seq))| Source {
                project: project.clone(),
                name: name.clone(),
                last_seen: *ts,
                last: *seq,
            })
        });
        all.filter(|it| self.session(&it.project, &it.name).is_none())
            .collect()
    }
}
