//! Every session of every project, under its first id; and by which other names it is known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hub_protocol::{InboxName, Process, ProjectName, Seq, SessionState, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::session::{Due, Key, Session};
use crate::record::SessionSet;

/// The most sessions that are known; the one that was silent for longest is forgotten first.
const MAX_SESSIONS: usize = 10_000;

type Projects = BTreeMap<ProjectName, BTreeMap<InboxName, Session>>;

/// The sessions that were registered or said what they do, and four indexes over them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    projects: Projects,
    count: usize,
    /// Who took the role, by project.
    primaries: BTreeMap<ProjectName, InboxName>,
    /// Oldest first.
    order: BTreeMap<Seq, BTreeSet<Key>>,
    due: BTreeSet<(Timestamp, Key)>,
    /// Live sessions that would be primary, best first.
    leaders: BTreeMap<ProjectName, BTreeSet<(Rank, InboxName)>>,
    /// Aliases and short names of registered sessions.
    names: HashMap<ProjectName, HashMap<String, InboxName>>,
}

/// How a session ranks among those that would be primary: chosen ones before others, then whoever came first.
type Rank = (bool, Seq);

/// By what a session is found.
#[derive(Clone, Copy)]
struct Indexed {
    touched: Seq,
    due: Option<Timestamp>,
    rank: Option<Rank>,
}

impl Indexed {
    fn of(session: &Session) -> Self {
        Self {
            touched: session.touched,
            due: session.due().map(|(at, _)| at),
            rank: rank(session),
        }
    }
}

fn rank(session: &Session) -> Option<Rank> {
    let it = session.registered.as_ref().filter(|_| session.is_alive())?;
    let chosen = it.info.role.as_deref() == Some(InboxName::PRIMARY);
    let first = it.info.main_worktree == Some(true) && it.info.parent.is_none() && it.hooks;
    (chosen || first).then_some((!chosen, it.seq))
}

/// What of it is stored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored<P, N> {
    Whole {
        sessions: P,
        primaries: N,
    },
    /// As it was before sessions were registered.
    Before(P),
}

impl Sessions {
    pub(super) fn get(&self, project: &ProjectName, key: &InboxName) -> Option<&Session> {
        self.projects.get(project)?.get(key)
    }

    pub(super) fn iter(
        &self,
        project: Option<&ProjectName>,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Session)> {
        let of = move |(other, _): &(&ProjectName, _)| project.is_none_or(|it| it == *other);
        let all = self.projects.iter().filter(of);
        all.flat_map(|(project, sessions)| {
            sessions
                .iter()
                .map(move |(key, session)| (project, key, session))
        })
    }

    /// The sessions of a project that are not over.
    pub(super) fn alive(
        &self,
        project: &ProjectName,
    ) -> impl Iterator<Item = (&InboxName, &Session)> {
        let sessions = self.projects.get(project).into_iter().flatten();
        sessions.filter(|(_, session)| session.is_alive())
    }

    /// The first id of the session that is called so in this project.
    pub(super) fn resolve(&self, project: &ProjectName, name: &str) -> Option<&InboxName> {
        if let Some((key, _)) = self.projects.get(project)?.get_key_value(name) {
            return Some(key);
        }
        self.names.get(project)?.get(name)
    }

    /// The agent's session with this id, in whichever project it is: agents give ids that nobody else has. A name means
    /// something in its own project only.
    pub(super) fn with_id(&self, id: &InboxName) -> Option<Key> {
        let of = |project: &ProjectName| {
            let key = self.resolve(project, id.as_str())?;
            let it = self.get(project, key)?.registered.as_ref()?;
            let is_id = key == id || it.aliases.contains(id);
            (it.hooks && is_id).then(|| (project.clone(), key.clone()))
        };
        self.projects.keys().find_map(of)
    }

    /// The project in which a session of this name was last heard of.
    pub(super) fn project_of(&self, name: &InboxName) -> Option<&ProjectName> {
        let found = self.projects.keys().filter_map(|project| {
            let key = self.resolve(project, name.as_str())?;
            Some((self.get(project, key)?.touched, project))
        });
        found.max().map(|(_, project)| project)
    }

    /// The live session of this process.
    pub(super) fn with_process(&self, process: &Process) -> Option<Key> {
        let same = |session: &Session| {
            session.is_alive() && session.info().and_then(|it| it.process.as_ref()) == Some(process)
        };
        // Who was resumed in another's process is heard of last.
        self.iter(None)
            .filter(|(_, _, session)| same(session))
            .max_by_key(|(_, _, session)| session.touched)
            .map(|(project, key, _)| (project.clone(), key.clone()))
    }

    /// The session that the person talks to: whoever took the role or was started for it, or else the first in the
    /// main worktree that is nobody's worker.
    pub(super) fn primary(&self, project: &ProjectName) -> Option<&InboxName> {
        let alive = |key: &&InboxName| self.get(project, key).is_some_and(Session::is_alive);
        if let Some(taken) = self.primaries.get(project).filter(alive) {
            return Some(taken);
        }
        let best = self.leaders.get(project)?.first();
        best.map(|(_, key)| key)
    }

    /// Live sessions whose parent this is.
    pub(super) fn workers<'a>(
        &'a self,
        project: &'a ProjectName,
        key: &'a InboxName,
    ) -> impl Iterator<Item = (&'a InboxName, &'a Session)> {
        let is_parent = move |name: &InboxName| self.resolve(project, name.as_str()) == Some(key);
        self.alive(project)
            .filter(move |(_, session)| session.parent().is_some_and(&is_parent))
    }

    /// How many of its workers are at work.
    pub(super) fn busy_workers(&self, project: &ProjectName, key: &InboxName) -> usize {
        let workers = self.workers(project, key);
        workers
            .filter(|(_, it)| it.state == Some(SessionState::Working))
            .count()
    }

    /// Whether a short name is another session's, or means something else.
    pub(super) fn is_taken(&self, project: &ProjectName, name: &str, key: &InboxName) -> bool {
        let reserved = ["primary", "person", "all", "unknown", "hub"].contains(&name);
        reserved || self.resolve(project, name).is_some_and(|of| of != key)
    }

    pub(super) fn take_primary(&mut self, project: &ProjectName, key: &InboxName) {
        self.primaries.insert(project.clone(), key.clone());
    }

    /// Changes a session, which is made if it was not known.
    pub(super) fn change(
        &mut self,
        project: &ProjectName,
        key: &InboxName,
        seq: Seq,
        change: impl FnOnce(&mut Session),
    ) {
        let place = (project.clone(), key.clone());
        let sessions = self.projects.entry(project.clone()).or_default();
        self.count += usize::from(!sessions.contains_key(key));
        let session = sessions.entry(key.clone()).or_default();
        let before = Indexed::of(session);
        change(session);
        session.touched = seq;
        let after = Indexed::of(session);
        self.unindex(before, &place);
        self.index(after, place);
        self.forget_oldest();
    }

    /// Takes in what a session told of itself.
    pub(super) fn set(&mut self, seq: Seq, record: &SessionSet) {
        let set = |session: &mut Session| session.set(seq, record);
        self.take_names(record);
        self.change(&record.project, &record.session, seq, set);
        self.index_names(&record.project, &record.session);
    }

    /// A name or an id means one session: whoever has it last. So does an agent's session that goes on under another
    /// name.
    fn take_names(&mut self, record: &SessionSet) {
        let (project, key) = (&record.project, &record.session);
        let Some(names) = self.names.get_mut(project) else {
            return;
        };
        if record.info.name.is_some() {
            let known = self.projects.get(project).and_then(|it| it.get(key));
            let old = known.and_then(Session::name);
            old.map(|old| names.remove(old));
        }
        let alias = record.alias.as_ref().map(InboxName::as_str);
        for name in alias.into_iter().chain(record.info.name.as_deref()) {
            let of = names.remove(name).filter(|of| of != key);
            let other = of.and_then(|of| self.projects.get_mut(project)?.get_mut(&of));
            if let Some(it) = other.and_then(|it| it.registered.as_mut()) {
                it.aliases.retain(|alias| alias.as_str() != name);
                it.info.name.take_if(|it| it == name);
            }
        }
    }

    fn index(&mut self, it: Indexed, place: Key) {
        if let Some(rank) = it.rank {
            let leaders = self.leaders.entry(place.0.clone()).or_default();
            leaders.insert((rank, place.1.clone()));
        }
        if let Some(at) = it.due {
            self.due.insert((at, place.clone()));
        }
        self.order.entry(it.touched).or_default().insert(place);
    }

    fn unindex(&mut self, it: Indexed, place: &Key) {
        if let Some(places) = self.order.get_mut(&it.touched) {
            places.remove(place);
            if places.is_empty() {
                self.order.remove(&it.touched);
            }
        }
        if let Some(at) = it.due {
            self.due.remove(&(at, place.clone()));
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
        let names = self.names.entry(project.clone()).or_default();
        let aliases = it.aliases.iter().map(|alias| alias.as_str().to_owned());
        for name in aliases.chain(it.info.name.clone()) {
            names.insert(name, key.clone());
        }
        if names.is_empty() {
            self.names.remove(project);
        }
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
        }
        if self.projects.get(project).is_some_and(BTreeMap::is_empty) {
            self.projects.remove(project);
            self.names.remove(project);
            self.primaries.remove(project);
        } else if let Some(names) = self.names.get_mut(project) {
            names.retain(|_, of| of != key);
            if names.is_empty() {
                self.names.remove(project);
            }
        }
    }

    /// Forgets a registered session that is over.
    pub(super) fn forget_over(&mut self, project: &ProjectName, key: &InboxName) {
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
        self.due.first().map(|(at, _)| *at)
    }

    /// What is due by now.
    pub(super) fn due(&self, now: Timestamp) -> impl Iterator<Item = (&Key, Due)> {
        let over = self.due.iter().take_while(move |(at, _)| *at <= now);
        over.filter_map(|(_, key)| Some((key, self.get(&key.0, &key.1)?.due()?.1)))
    }

    /// Moves every deadline.
    pub(super) fn shift(&mut self, delta_ms: i64) {
        self.due.clear();
        for (project, sessions) in &mut self.projects {
            for (key, session) in sessions {
                session.shift(delta_ms);
                if let Some((at, _)) = session.due() {
                    self.due.insert((at, (project.clone(), key.clone())));
                }
            }
        }
    }
}

impl Serialize for Sessions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored::Whole {
            sessions: &self.projects,
            primaries: &self.primaries,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sessions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (projects, primaries) = match Stored::<Projects, _>::deserialize(deserializer)? {
            Stored::Whole {
                sessions,
                primaries,
            } => (sessions, primaries),
            Stored::Before(sessions) => (sessions, BTreeMap::new()),
        };
        let mut sessions = Self {
            primaries,
            ..Self::default()
        };
        for (project, known) in projects {
            for (key, session) in known {
                let touched = session.touched.max(session.seq);
                sessions.change(&project, &key, touched, |it| *it = session);
                sessions.index_names(&project, &key);
            }
        }
        Ok(sessions)
    }
}
