//! Sessions, as far as their notifications tell: the last state each was in.

use std::collections::BTreeMap;

use hub_protocol::{InboxName, ProjectName, Seq, SessionState, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most sessions that are known; the one that was silent for longest is forgotten first.
const MAX_SESSIONS: usize = 10_000;

type Projects = BTreeMap<ProjectName, BTreeMap<InboxName, Known>>;

/// The sessions that said something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    projects: Projects,
    /// By the number of the notification that told the state, so oldest first.
    order: BTreeMap<Seq, (ProjectName, InboxName)>,
}

/// What is known of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) state: SessionState,
    /// The notification that told it.
    pub(super) seq: Seq,
    /// When it was said.
    pub(super) ts: Timestamp,
    /// When it last said that it works, in this state or an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) worked: Option<Timestamp>,
}

impl Known {
    pub(super) fn new(state: SessionState, seq: Seq, ts: Timestamp) -> Self {
        let worked = (state == SessionState::Working).then_some(ts);
        Self {
            state,
            seq,
            ts,
            worked,
        }
    }
}

impl Sessions {
    pub(super) fn get(&self, project: &ProjectName, name: &InboxName) -> Option<&Known> {
        self.projects.get(project)?.get(name)
    }

    /// The sessions of a project that have not ended.
    pub(super) fn alive(&self, project: &ProjectName) -> impl Iterator<Item = &InboxName> {
        self.projects
            .get(project)
            .into_iter()
            .flatten()
            .filter(|(_, known)| known.state != SessionState::Ended)
            .map(|(name, _)| name)
    }

    /// The project in which a session of this name was last heard of.
    pub(super) fn project_of(&self, name: &InboxName) -> Option<&ProjectName> {
        self.projects
            .iter()
            .filter_map(|(project, names)| Some((names.get(name)?.seq, project)))
            .max()
            .map(|(_, project)| project)
    }

    pub(super) fn note(&mut self, project: &ProjectName, name: &InboxName, mut known: Known) {
        if let Some(before) = self.get(project, name).copied() {
            known.worked = known.worked.or(before.worked);
            self.order.remove(&before.seq);
        }
        self.order
            .insert(known.seq, (project.clone(), name.clone()));
        self.projects
            .entry(project.clone())
            .or_default()
            .insert(name.clone(), known);
        if self.order.len() > MAX_SESSIONS
            && let Some((_, (project, name))) = self.order.pop_first()
        {
            self.forget(&project, &name);
        }
    }

    fn forget(&mut self, project: &ProjectName, name: &InboxName) {
        if let Some(names) = self.projects.get_mut(project) {
            names.remove(name);
            if names.is_empty() {
                self.projects.remove(project);
            }
        }
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        for known in self.projects.remove(project).into_iter().flatten() {
            self.order.remove(&known.1.seq);
        }
    }
}

impl Serialize for Sessions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.projects.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sessions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let projects = Projects::deserialize(deserializer)?;
        let order = projects
            .iter()
            .flat_map(|(project, names)| {
                names
                    .iter()
                    .map(move |(name, known)| (known.seq, (project.clone(), name.clone())))
            })
            .collect();
        Ok(Self { projects, order })
    }
}
