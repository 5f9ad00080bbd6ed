//! Sources: senders that need not be sessions.

use hub_protocol::{InboxName, Kind, ProjectName, Seq, SessionState, Source, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ByProject, State, each};
use crate::record::Route;

/// The most sources in one project; the one that was silent for longest is forgotten first.
const MAX_SOURCES: usize = 1_000;

/// The last notification of each source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sources(ByProject<Last>);

/// The last notification of a source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredLast", into = "StoredLast")]
struct Last {
    ts: Timestamp,
    seq: Seq,
    /// Its last notification without a type, which says that something is done.
    done: Option<Seq>,
}

/// The stored form of a [`Last`].
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum StoredLast {
    Spoke(Timestamp, Seq),
    Done(Timestamp, Seq, Seq),
}

impl From<StoredLast> for Last {
    fn from(stored: StoredLast) -> Self {
        let (ts, seq, done) = match stored {
            StoredLast::Spoke(ts, seq) => (ts, seq, None),
            StoredLast::Done(ts, seq, done) => (ts, seq, Some(done)),
        };
        Self { ts, seq, done }
    }
}

impl From<Last> for StoredLast {
    fn from(Last { ts, seq, done }: Last) -> Self {
        match done {
            None => Self::Spoke(ts, seq),
            Some(done) => Self::Done(ts, seq, done),
        }
    }
}

impl Last {
    fn note(&mut self, seq: Seq, route: &Route) {
        (self.ts, self.seq) = (route.ts, seq);
        // A notification with a type reports the state of a session.
        if route.kind == Kind::Complete && route.session.is_none() {
            self.done = Some(seq);
        }
    }
}

impl Sources {
    pub(super) fn note(&mut self, seq: Seq, route: &Route) {
        let known = self.0.get_mut(&route.project);
        if let Some(known) = known.and_then(|it| it.get_mut(&route.from)) {
            known.note(seq, route);
            return;
        }
        let mut last = Last::default();
        last.note(seq, route);
        let sources = self.0.entry(route.project.clone()).or_default();
        sources.insert(route.from.clone(), last);
        if sources.len() > MAX_SOURCES {
            let oldest = sources.iter().min_by_key(|(_, it)| it.seq);
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
        let all = each(&self.sources.0, project);
        let others = all.filter(|(project, name, _)| self.sessions.get(project, name).is_none());
        let source = |(project, name, last): (&ProjectName, &InboxName, &Last)| Source {
            project: project.clone(),
            name: name.clone(),
            last_seen: last.ts,
            last: last.seq,
        };
        others.map(source).collect()
    }

    /// Returns the record that reported that a session, or a sender of this name, is complete, failed or over; `None` if it has
    /// not finished. A report without a type counts, because a job may say only that it is done; but hooks report the end of a
    /// turn themselves.
    pub fn finished(&self, project: &ProjectName, name: &InboxName) -> Option<Seq> {
        use SessionState::{Complete, Ended, Error};
        let key = self.sessions.resolve(project, name);
        let session = self.sessions.get(project, key);
        let by_state = session.filter(|it| matches!(it.state, Some(Complete | Error | Ended)));
        let source = self.sources.0.get(project).and_then(|it| it.get(key));
        let done = source.and_then(|it| it.done);
        let counts = |done: &Seq| session.is_none_or(|it| !it.has_hooks() && *done > it.seq);
        by_state.map(|it| it.seq).max(done.filter(counts))
    }
}
