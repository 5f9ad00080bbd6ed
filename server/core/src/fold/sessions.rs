//! The sessions of all projects by their first ids, and an index of their other names.
//!
//! A session keeps its first id for good: its inbox, listeners and questions are stored under it. Later ids (after
//! `/clear`) and short names are aliases, so nothing is moved. An agent's id means its session in every project, a short
//! name only a live session in its own project. The primary is derived from the session that took the role, or from the
//! facts that sessions reported; there is no record of an election.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deadlines::Deadlines;
use super::session::{Registered, Session, SessionDue, SessionKey};
use super::{ByProject, each};
use crate::record::SessionSet;

/// The most sessions that are remembered; the one that was silent for longest is forgotten first.
const MAX_SESSIONS: usize = 10_000;

/// The sessions that registered or reported a state, with indexes over them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sessions {
    projects: ByProject<Session>,
    count: usize,
    /// How many of them are registered and alive.
    alive: usize,
    /// The bytes of all registrations.
    sizes: usize,
    /// The session that took the role of primary, by project.
    primaries: BTreeMap<ProjectName, InboxName>,
    /// Sessions by the last record that concerned them, oldest first.
    order: BTreeMap<Seq, BTreeSet<SessionKey>>,
    due: Deadlines<SessionKey>,
    /// Live sessions that may become primary, best first.
    leaders: BTreeMap<ProjectName, BTreeSet<(Rank, InboxName)>>,
    /// The projects that have a session with this first id.
    ids: HashMap<InboxName, BTreeSet<ProjectName>>,
    /// Registered sessions by their aliases and short names, also former ones, in each project.
    names: HashMap<String, BTreeMap<ProjectName, InboxName>>,
}

/// The rank of a session among those that may become primary: chosen ones before others, then the first registered.
type Rank = (bool, Seq);

/// The properties by which a session is indexed.
#[derive(Clone, Copy)]
struct Indexed {
    touched: Seq,
    due: Option<Timestamp>,
    rank: Option<Rank>,
    lives: bool,
    size: usize,
}

impl Indexed {
    fn of(session: &Session) -> Self {
        Self {
            touched: session.touched,
            due: session.due().map(|(at, _)| at),
            rank: rank(session),
            lives: session.is_alive() && session.registered.is_some(),
            size: session.size(),
        }
    }
}

fn rank(session: &Session) -> Option<Rank> {
    let it = session.registered.as_ref().filter(|_| session.is_alive())?;
    let chosen = it.info.role.as_deref() == Some(InboxName::PRIMARY);
    // A headless session ends after one prompt, so it cannot be woken and cannot lead.
    let first = it.info.main_worktree == Some(true)
        && it.info.parent.is_none()
        && it.hooks
        && !session.is_headless();
    (chosen || first).then_some((!chosen, it.seq))
}

/// The stored form of [`Sessions`].
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredSessions<P, N> {
    Whole {
        sessions: P,
        primaries: N,
    },
    /// The form from before sessions were registered.
    Before(P),
}

impl Sessions {
    /// Returns the session with this first id.
    pub fn get(&self, project: &ProjectName, key: &InboxName) -> Option<&Session> {
        self.projects.get(project)?.get(key)
    }

    /// Returns the first id of the session with this id or name in this project.
    pub(super) fn key_of(&self, project: &ProjectName, name: &str) -> Option<&InboxName> {
        if let Some((key, _)) = self.projects.get(project)?.get_key_value(name) {
            return Some(key);
        }
        self.names.get(name)?.get(project)
    }

    /// Returns the sessions that this id or name means, at most one in each project.
    pub(super) fn called(
        &self,
        name: &InboxName,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Session)> {
        let mut projects: Vec<_> = self.ids.get(name).into_iter().flatten().collect();
        projects.extend(
            self.names
                .get(name.as_str())
                .into_iter()
                .flatten()
                .map(|it| it.0),
        );
        projects.sort_unstable();
        projects.dedup();
        projects.into_iter().filter_map(move |project| {
            let key = self.key_of(project, name.as_str())?;
            Some((project, key, self.get(project, key)?))
        })
    }

    /// Returns the sessions of one project, or of all.
    pub fn iter(
        &self,
        project: Option<&ProjectName>,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Session)> {
        each(&self.projects, project)
    }

    /// Returns how many registered sessions are alive.
    pub(super) fn count_alive(&self) -> usize {
        self.alive
    }

    /// Returns the bytes of all registrations.
    pub(super) fn size(&self) -> usize {
        self.sizes
    }

    /// Returns the live sessions of a project.
    pub(super) fn alive(
        &self,
        project: &ProjectName,
    ) -> impl Iterator<Item = (&InboxName, &Session)> {
        let sessions = self.projects.get(project).into_iter().flatten();
        sessions.filter(|(_, session)| session.is_alive())
    }

    /// Returns the sessions, those first that were silent for longest.
    pub(super) fn silent_for_longest(&self) -> impl Iterator<Item = (&SessionKey, &Session)> {
        let keys = self.order.values().flatten();
        keys.filter_map(|key| Some((key, self.get(&key.0, &key.1)?)))
    }

    /// Returns the session that the person talks to: the one that took the role or was started for it, or else the
    /// first in the main worktree that is no session's worker.
    pub fn primary(&self, project: &ProjectName) -> Option<&InboxName> {
        let alive = |key: &&InboxName| self.get(project, key).is_some_and(Session::is_alive);
        if let Some(taken) = self.primaries.get(project).filter(alive) {
            return Some(taken);
        }
        let best = self.leaders.get(project)?.first();
        best.map(|(_, key)| key)
    }

    pub(super) fn take_primary(&mut self, project: &ProjectName, key: &InboxName) {
        self.primaries.insert(project.clone(), key.clone());
    }

    /// Changes a session, and adds it if it is not known.
    pub(super) fn change(
        &mut self,
        project: &ProjectName,
        key: &InboxName,
        seq: Seq,
        change: impl FnOnce(&mut Session),
    ) {
        let place = (project.clone(), key.clone());
        let sessions = self.projects.entry(project.clone()).or_default();
        if !sessions.contains_key(key) {
            self.count += 1;
            let projects = self.ids.entry(key.clone()).or_default();
            projects.insert(project.clone());
        }
        let session = sessions.entry(key.clone()).or_default();
        let (before, was_busy) = (Indexed::of(session), session.is_busy());
        change(session);
        session.touched = seq;
        let after = Indexed::of(session);
        let rests = was_busy && !session.is_busy();
        let parent = session.parent().filter(|_| rests).cloned();
        let at = session.ended_at.unwrap_or(session.ts);
        self.unindex(before, &place);
        self.index(after, place);
        if let Some(parent) = parent {
            self.note_idle_worker(project, &parent, at);
        }
        self.forget_oldest();
    }

    /// Lets a session wait no longer for its workers if none of them is at work any more.
    fn note_idle_worker(&mut self, project: &ProjectName, parent: &InboxName, at: Timestamp) {
        let Some(key) = self.key_of(project, parent.as_str()).cloned() else {
            return;
        };
        if self.busy_workers(project, &key) > 0 {
            return;
        }
        let sessions = self.projects.get_mut(project);
        let Some(session) = sessions.and_then(|it| it.get_mut(&key)) else {
            return;
        };
        let before = Indexed::of(session);
        session.note_idle_workers(at);
        let after = Indexed::of(session);
        let place = (project.clone(), key);
        self.unindex(before, &place);
        self.index(after, place);
    }

    /// Applies a session's new properties.
    pub(super) fn set(&mut self, seq: Seq, record: &SessionSet) {
        let mut dropped = Vec::new();
        let set = |session: &mut Session| dropped = session.set(seq, record);
        self.take_names(record);
        self.change(&record.project, &record.session, seq, set);
        for name in dropped {
            self.unname(&record.project, name.as_str());
        }
        self.index_names(&record.project, &record.session);
    }

    /// Takes names and ids from other sessions, because each means only the session that had it last. An ended session
    /// keeps its former name for people to read.
    fn take_names(&mut self, record: &SessionSet) {
        let (project, key) = (&record.project, &record.session);
        if record.info.name.is_some() {
            let old = self.get(project, key).and_then(Session::name);
            if let Some(old) = old.map(str::to_owned) {
                self.unname(project, &old);
            }
        }
        let alias = record.alias.as_ref().map(InboxName::as_str);
        for name in alias.into_iter().chain(record.info.name.as_deref()) {
            let of = self.unname(project, name).filter(|of| of != key);
            let other = of.and_then(|of| self.projects.get_mut(project)?.get_mut(&of));
            if let Some(it) = other.and_then(|it| it.registered.as_mut()) {
                it.aliases.retain(|alias| alias.as_str() != name);
                it.old_names.retain(|old| old.as_str() != name);
                it.former = it.info.name.take_if(|it| it == name).or(it.former.take());
                self.sizes -= it.size();
                it.measure();
                self.sizes += it.size();
            }
        }
    }

    fn index(&mut self, it: Indexed, place: SessionKey) {
        if let Some(rank) = it.rank {
            let leaders = self.leaders.entry(place.0.clone()).or_default();
            leaders.insert((rank, place.1.clone()));
        }
        if let Some(at) = it.due {
            self.due.insert(at, place.clone());
        }
        self.order.entry(it.touched).or_default().insert(place);
        self.alive += usize::from(it.lives);
        self.sizes += it.size;
    }

    fn unindex(&mut self, it: Indexed, place: &SessionKey) {
        self.alive -= usize::from(it.lives);
        self.sizes -= it.size;
        if let Some(places) = self.order.get_mut(&it.touched) {
            places.remove(place);
            if places.is_empty() {
                self.order.remove(&it.touched);
            }
        }
        if let Some(at) = it.due {
            self.due.remove(at, place.clone());
        }
        if let Some(rank) = it.rank
            && let Some(leaders) = self.leaders.get_mut(&place.0)
        {
            leaders.remove(&(rank, place.1.clone()));
            if leaders.is_empty() {
                self.leaders.remove(&place.0);
            }
        }
    }

    fn index_names(&mut self, project: &ProjectName, key: &InboxName) {
        let Some(it) = self
            .projects
            .get(project)
            .and_then(|sessions| sessions.get(key))
            .and_then(|session| session.registered.as_ref())
        else {
            return;
        };
        let others = it.other_names().map(ToString::to_string);
        for name in others.chain(it.info.name.clone()) {
            let sessions = self.names.entry(name).or_default();
            sessions.insert(project.clone(), key.clone());
        }
    }

    /// Takes a name from the session that has it in this project; returns the session.
    fn unname(&mut self, project: &ProjectName, name: &str) -> Option<InboxName> {
        let sessions = self.names.get_mut(name)?;
        let of = sessions.remove(project);
        if sessions.is_empty() {
            self.names.remove(name);
        }
        of
    }

    fn forget_oldest(&mut self) {
        if self.count <= MAX_SESSIONS {
            return;
        }
        let oldest = self
            .order
            .first_key_value()
            .and_then(|(_, places)| places.first().cloned());
        if let Some((project, key)) = oldest {
            self.forget(&project, &key);
        }
    }

    fn forget(&mut self, project: &ProjectName, key: &InboxName) {
        let Some(sessions) = self.projects.get_mut(project) else {
            return;
        };
        if let Some(session) = sessions.remove(key) {
            self.count -= 1;
            self.unindex(Indexed::of(&session), &(project.clone(), key.clone()));
            self.forget_names(project, key, &session);
        }
        if self.projects.get(project).is_some_and(BTreeMap::is_empty) {
            self.projects.remove(project);
            self.primaries.remove(project);
        }
    }

    fn forget_names(&mut self, project: &ProjectName, key: &InboxName, session: &Session) {
        if let Some(projects) = self.ids.get_mut(key) {
            projects.remove(project);
            if projects.is_empty() {
                self.ids.remove(key);
            }
        }
        let others = session.registered.iter().flat_map(Registered::other_names);
        let others = others.map(InboxName::as_str);
        for name in others.chain(session.name()) {
            if self.names.get(name).and_then(|it| it.get(project)) == Some(key) {
                self.unname(project, name);
            }
        }
    }

    /// Forgets a registered session that has ended.
    pub(super) fn forget_ended(&mut self, project: &ProjectName, key: &InboxName) {
        let is_past = |it: &Session| !it.is_alive() && it.registered.is_some();
        if self.get(project, key).is_some_and(is_past) {
            self.forget(project, key);
        }
    }

    pub(super) fn forget_all(&mut self, project: &ProjectName) {
        let keys: Vec<InboxName> = self
            .iter(Some(project))
            .map(|(_, key, _)| key.clone())
            .collect();
        for key in keys {
            self.forget(project, &key);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.due.next()
    }

    /// Returns the changes that are due now.
    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = (&SessionKey, SessionDue)> {
        let due = self.due.due(now);
        due.filter_map(|key| Some((key, self.get(&key.0, &key.1)?.due()?.1)))
    }

    /// Moves every time by `delta_ms`.
    pub(super) fn shift(&mut self, delta_ms: i64) {
        self.due.clear();
        for (project, sessions) in &mut self.projects {
            for (key, session) in sessions {
                session.shift(delta_ms);
                if let Some((at, _)) = session.due() {
                    self.due.insert(at, (project.clone(), key.clone()));
                }
            }
        }
    }
}

impl Serialize for Sessions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredSessions::Whole {
            sessions: &self.projects,
            primaries: &self.primaries,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sessions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (projects, primaries) =
            match StoredSessions::<ByProject<Session>, _>::deserialize(deserializer)? {
                StoredSessions::Whole {
                    sessions,
                    primaries,
                } => (sessions, primaries),
                StoredSessions::Before(sessions) => (sessions, BTreeMap::new()),
            };
        let mut sessions = Self {
            primaries,
            ..Self::default()
        };
        for (project, known) in projects {
            for (key, session) in known {
                let touched = session.touched.max(session.seq);
                sessions.change(&project, &key, touched, |it| {
                    *it = session;
                    it.registered.iter_mut().for_each(Registered::measure);
                });
                sessions.index_names(&project, &key);
            }
        }
        Ok(sessions)
    }
}
