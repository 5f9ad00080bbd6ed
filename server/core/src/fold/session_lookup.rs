//! How sessions are found: by id, name, process or directory.

use hub_protocol::{InboxName, Process, ProjectName};

use super::nearest::nearest;
use super::question::Question;
use super::session::{Registered, Session, SessionKey};
use super::sessions::Sessions;
use crate::command::{AgentEvent, Hook, Refusal};

impl Sessions {
    /// Returns the first id of the session with this id or name, or the name itself if there is none.
    pub fn resolve<'a>(&'a self, project: &ProjectName, name: &'a InboxName) -> &'a InboxName {
        self.key_of(project, name.as_str()).unwrap_or(name)
    }

    /// Returns the session with this id or name in this project.
    pub fn with_name(&self, project: &ProjectName, name: &InboxName) -> Option<&Session> {
        self.get(project, self.key_of(project, name.as_str())?)
    }

    /// Returns the session that asked a question.
    pub(super) fn asker(&self, question: &Question) -> Option<&Session> {
        self.with_name(&question.project, &question.from)
    }

    /// Returns the agent's session with this id, in any project, because agents' ids are unique. A name is valid in its
    /// own project only.
    pub(super) fn with_id(&self, id: &InboxName) -> Option<SessionKey> {
        self.called(id).find_map(|(project, key, session)| {
            let it = session.registered.as_ref()?;
            let is_id = key == id || it.aliases.contains(id);
            (it.hooks && is_id).then(|| (project.clone(), key.clone()))
        })
    }

    /// Returns the session with this id or name in this project, or else the agent's session with this id in any
    /// project.
    pub fn find_key(&self, project: &ProjectName, name: &InboxName) -> Option<SessionKey> {
        let here = self.key_of(project, name.as_str());
        let here = here.map(|key| (project.clone(), key.clone()));
        here.or_else(|| self.with_id(name))
    }

    /// Returns the first id of the session that a registration with this id or name is about. A job is the session of its
    /// own id, whatever other sessions are or were called: the end of one would hide that of the other.
    pub fn registered_as<'a>(
        &'a self,
        project: &ProjectName,
        name: &'a InboxName,
        is_job: bool,
    ) -> &'a InboxName {
        if is_job {
            return name;
        }
        self.resolve(project, name)
    }

    /// Returns the known session of an agent with this id, which was started with the name `given`, if any. The agent has
    /// the session of that name, whatever other sessions are or were called. In another project the name means another session,
    /// unless the agent gives that session the same id.
    pub fn of_agent(
        &self,
        project: &ProjectName,
        given: Option<&InboxName>,
        id: &InboxName,
    ) -> Option<SessionKey> {
        let here = match given {
            Some(given) => self.get(project, given).map(|_| given),
            None => self.key_of(project, id.as_str()),
        };
        let here = here.map(|key| (project.clone(), key.clone()));
        let is_same = |(_, key): &SessionKey| given.is_none_or(|given| given == key);
        here.or_else(|| self.with_id(id).filter(is_same))
    }

    /// Returns [`Sessions::find_key`], or the given project and name.
    pub fn resolve_key(&self, project: ProjectName, name: InboxName) -> SessionKey {
        let known = self.find_key(&project, &name);
        known.unwrap_or((project, name))
    }

    /// Finds a session by id, alias, short name, or a unique prefix of one of these.
    pub fn find(&self, project: &ProjectName, name: &InboxName) -> Result<SessionKey, Refusal> {
        if let Some(place) = self.find_key(project, name) {
            return Ok(place);
        }
        let begins = |key: &InboxName, session: &Session| {
            let registered = session.registered.iter();
            let mut others = registered.flat_map(Registered::other_names);
            key.as_str().starts_with(name.as_str())
                || session
                    .name()
                    .is_some_and(|it| it.starts_with(name.as_str()))
                || others.any(|other| other.as_str().starts_with(name.as_str()))
        };
        let found = self.iter(Some(project));
        let found: Vec<_> = found
            .filter(|(_, key, session)| begins(key, session))
            .collect();
        let mut alive = found.iter().filter(|(_, _, session)| session.is_alive());
        match (alive.next(), alive.next(), found.as_slice()) {
            (Some((_, key, _)), None, _) | (None, _, [(_, key, _)]) => {
                Ok((project.clone(), (*key).clone()))
            }
            _ => Err(self.unknown(project, name)),
        }
    }

    pub(super) fn unknown(&self, project: &ProjectName, name: &InboxName) -> Refusal {
        let names = self.iter(Some(project)).flat_map(|(_, key, it)| {
            let short = it.name().and_then(|name| name.parse().ok());
            [Some(key.clone()), short].into_iter().flatten()
        });
        let names: Vec<InboxName> = names.collect();
        Refusal::UnknownSession {
            project: project.clone(),
            name: name.clone(),
            nearest: nearest(name, names.iter()).map(ToString::to_string),
            elsewhere: self.elsewhere(project, name).cloned(),
        }
    }

    /// Returns the live sessions that this process runs.
    pub(super) fn with_process<'a>(
        &'a self,
        process: &'a Process,
    ) -> impl Iterator<Item = (SessionKey, &'a Session)> {
        let runs = move |it: &Session| it.is_alive() && it.processes().any(|it| it == process);
        let found = self.iter(None).filter(move |(_, _, it)| runs(it));
        found.map(|(project, key, it)| ((project.clone(), key.clone()), it))
    }

    /// Returns the session of a hook event by project and first id, and the event's own id if it differs from that.
    pub fn key_of_hook(&self, hook: &Hook) -> (SessionKey, Option<InboxName>) {
        let alias = |key: &InboxName| (*key != hook.id).then(|| hook.id.clone());
        let name = hook.given.as_ref().unwrap_or(&hook.id);
        // A process that begins another session continues the one that it runs, for example after `/clear`.
        let of_process = || {
            let begins = hook.given.is_none() && hook.happened == AgentEvent::Started;
            let process = hook.process().filter(|_| begins)?;
            let runs = self.with_process(process);
            let last = runs.max_by_key(|(_, session)| session.touched);
            last.map(|(place, _)| place)
        };
        let known = self.of_agent(&hook.project, hook.given.as_ref(), &hook.id);
        let known = known.or_else(of_process);
        let (project, key) = known.unwrap_or_else(|| (hook.project.clone(), name.clone()));
        let alias = alias(&key);
        ((project, key), alias)
    }

    /// Returns the project in which a session of this name was last active.
    pub fn project_of(&self, name: &InboxName) -> Option<&ProjectName> {
        let found = self
            .called(name)
            .map(|(project, _, it)| (it.touched, project));
        found.max().map(|(_, project)| project)
    }

    /// Returns another project that has a session of this name, the one in which it was last active.
    pub fn elsewhere(&self, project: &ProjectName, name: &InboxName) -> Option<&ProjectName> {
        if name.is_reserved() {
            return None;
        }
        self.project_of(name).filter(|it| *it != project)
    }

    /// Returns the project of the agent's session with this id, or else of the session that was last heard in `cwd`.
    pub fn last_project(&self, id: Option<&InboxName>, cwd: Option<&str>) -> Option<ProjectName> {
        if let Some((project, _)) = id.and_then(|id| self.with_id(id)) {
            return Some(project);
        }
        let cwd = cwd?;
        let there = self.iter(None).filter(|(_, _, session)| {
            let info = session.info();
            info.and_then(|it| it.cwd.as_deref()) == Some(cwd)
        });
        let last = there.max_by_key(|(_, _, session)| session.touched);
        last.map(|(project, _, _)| project.clone())
    }

    /// Returns the name for people of the session with this id or name, if it differs from `id`.
    pub fn other_name(&self, project: &ProjectName, id: &InboxName) -> Option<&str> {
        let name = self.with_name(project, id)?.shown_name();
        name.filter(|name| *name != id.as_str())
    }

    /// Returns [`Sessions::other_name`], or `id` itself.
    pub fn shown_name<'a>(&'a self, project: &ProjectName, id: &'a InboxName) -> &'a str {
        self.other_name(project, id).unwrap_or(id.as_str())
    }
}
