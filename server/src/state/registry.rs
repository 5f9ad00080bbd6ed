//! The registry: sessions become known, get their names and roles, and end.

use hub_protocol::{InboxName, Kind, ProjectName, SessionInfo, SessionState, Timestamp};

use super::batch::{Batch, Said};
use super::session::{Key, Session, news};
use super::{Leased, State, texts};
use crate::command::Refusal;
use crate::record::{PrimaryTaken, Record, SessionGone, SessionSet};

/// Bytes of a short name.
const MAX_NAME: usize = 40;

impl State {
    /// A session that the log knows, under its first id.
    pub fn session(&self, project: &ProjectName, key: &InboxName) -> Option<&Session> {
        self.sessions.get(project, key)
    }

    /// The sessions of one project, or all.
    pub fn sessions(
        &self,
        project: Option<&ProjectName>,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Session)> {
        self.sessions.iter(project)
    }

    /// The session that the person talks to in this project.
    pub fn primary(&self, project: &ProjectName) -> Option<&InboxName> {
        self.sessions.primary(project)
    }

    /// Whether a session has workers at work.
    pub fn has_busy_workers(&self, project: &ProjectName, key: &InboxName) -> bool {
        self.sessions.busy_workers(project, key) > 0
    }

    /// The first id of the session that is called so, or the name itself.
    pub fn called<'a>(&'a self, project: &ProjectName, name: &'a InboxName) -> &'a InboxName {
        self.sessions
            .resolve(project, name.as_str())
            .unwrap_or(name)
    }

    /// The session that is called so in this project, or else the agent's session with this id in any.
    pub fn known_place(&self, project: &ProjectName, name: &InboxName) -> Option<Key> {
        let here = self.sessions.resolve(project, name.as_str());
        let here = here.map(|key| (project.clone(), key.clone()));
        here.or_else(|| self.sessions.with_id(name))
    }

    /// [`State::known_place`], or the name itself.
    pub fn place(&self, project: ProjectName, name: InboxName) -> Key {
        let known = self.known_place(&project, &name);
        known.unwrap_or((project, name))
    }

    /// Finds a session by id, alias, short name, or a prefix of one of these that fits no other.
    pub fn find_session(&self, project: &ProjectName, name: &InboxName) -> Result<Key, Refusal> {
        if let Some(place) = self.known_place(project, name) {
            return Ok(place);
        }
        let begins = |key: &InboxName, session: &Session| {
            let mut aliases = session.registered.iter().flat_map(|it| &it.aliases);
            key.as_str().starts_with(name.as_str())
                || session
                    .name()
                    .is_some_and(|it| it.starts_with(name.as_str()))
                || aliases.any(|alias| alias.as_str().starts_with(name.as_str()))
        };
        let mut found = self
            .sessions
            .iter(Some(project))
            .filter(|(_, key, session)| begins(key, session));
        match (found.next(), found.next()) {
            (Some((_, key, _)), None) => Ok((project.clone(), key.clone())),
            _ => Err(self.unknown_session(project, name)),
        }
    }

    pub(super) fn unknown_session(&self, project: &ProjectName, name: &InboxName) -> Refusal {
        let names = self.sessions.iter(Some(project)).flat_map(|(_, key, it)| {
            let short = it.name().and_then(|name| name.parse().ok());
            [Some(key.clone()), short].into_iter().flatten()
        });
        let names: Vec<InboxName> = names.collect();
        Refusal::UnknownSession {
            project: project.clone(),
            name: name.clone(),
            nearest: super::nearest::nearest(name, names.iter()).map(ToString::to_string),
        }
    }

    pub(super) fn decide_register(
        &self,
        project: &ProjectName,
        session: &InboxName,
        info: &SessionInfo,
        now: Timestamp,
    ) -> Vec<Record> {
        let key = self.called(project, session);
        let set = self.set_session((project, key), info, None, false, now);
        set.into_iter().collect()
    }

    /// What is new of a session, if anything is.
    pub(super) fn set_session(
        &self,
        (project, key): (&ProjectName, &InboxName),
        info: &SessionInfo,
        alias: Option<&InboxName>,
        hooks: bool,
        at: Timestamp,
    ) -> Option<Record> {
        let known = self.session(project, key);
        let registered = known.and_then(|it| it.registered.as_ref());
        let mut info = info.clone();
        info.name = match known.and_then(Session::name) {
            Some(_) => None,
            None => Some(self.free_name(project, key, &info)),
        };
        let blank = SessionInfo::default();
        let info = news(registered.map_or(&blank, |it| &it.info), &info);
        let alias = alias.filter(|alias| {
            *alias != key && !registered.is_some_and(|it| it.aliases.contains(alias))
        });
        let is_news = registered.is_none_or(|it| !it.hooks && hooks)
            || known.is_some_and(|it| !it.is_alive())
            || alias.is_some()
            || info != blank;
        is_news.then(|| {
            Record::SessionSet(SessionSet {
                project: project.clone(),
                session: key.clone(),
                info,
                alias: alias.cloned(),
                hooks,
                at,
            })
        })
    }

    /// A short name that no other session of the project has.
    fn free_name(&self, project: &ProjectName, key: &InboxName, info: &SessionInfo) -> String {
        let dir = info
            .cwd
            .as_deref()
            .and_then(|cwd| cwd.rsplit('/').find(|it| !it.is_empty()));
        let wish = info.name.as_deref().or(dir).or(info.agent.as_deref());
        let allowed = |c: char| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        };
        let wish: String = wish.unwrap_or(key.as_str()).chars().map(allowed).collect();
        let wish = wish.trim_start_matches(['.', '_', '-']).replace("..", ".");
        let base = &wish[..wish.len().min(MAX_NAME)];
        let base = if base.is_empty() { "session" } else { base };
        let numbered = (2..).map(|n| format!("{base}-{n}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        let is_inbox = |name: &str| {
            let inbox = name.parse().ok().filter(|it| it != key);
            inbox.is_some_and(|it| self.inboxes.get(project, &it).is_some())
        };
        let taken = |name: &str| self.sessions.is_taken(project, name, key) || is_inbox(name);
        let free = names.find(|name| !taken(name));
        free.expect("there is a number for each session")
    }

    pub(super) fn decide_primary(
        &self,
        project: &ProjectName,
        session: &InboxName,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let (project, key) = self.find_session(project, session)?;
        if self.primary(&project) == Some(&key) {
            return Ok(Vec::new());
        }
        Ok(vec![Record::PrimaryTaken(PrimaryTaken {
            project,
            session: key,
            at: now,
        })])
    }

    /// A session is over: by its own word, or because its process died.
    pub(super) fn decide_end(
        &self,
        project: &ProjectName,
        session: &InboxName,
        gone: bool,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Vec<Record>, Refusal> {
        let (project, key) = &self.find_session(project, session)?;
        let Some(known) = self.session(project, key).filter(|it| it.is_alive()) else {
            return Ok(Vec::new());
        };
        let mut batch = Batch::new(self, now, leased);
        let unfinished = matches!(
            known.state,
            Some(SessionState::Working | SessionState::Blocked)
        );
        let name = texts::name(key, Some(known));
        let (kind, msg) = match (gone, unfinished) {
            (true, true) => (
                Kind::Error,
                format!("Agent {name} died unfinished: its process is gone"),
            ),
            (true, false) => (
                Kind::Ended,
                format!("Agent {name} is gone: its process ended"),
            ),
            (false, _) => (Kind::Ended, format!("Agent {name} ended")),
        };
        batch.say(Said::of((project, key), kind, msg))?;
        self.leave(&mut batch, (project, key));
        if gone {
            batch.also(Record::SessionGone(SessionGone {
                project: project.clone(),
                session: key.clone(),
                at: now,
            }));
        }
        Ok(batch.finish())
    }

    /// What ends with a session: its listeners, and the dialogs that nobody can answer any more.
    pub(super) fn leave(&self, batch: &mut Batch<'_>, (project, key): (&ProjectName, &InboxName)) {
        self.withdraw_stale(batch, (project, key));
        batch.orphan(project, key);
    }

    pub(super) fn apply_gone(&mut self, seq: u64, it: &SessionGone) {
        self.sessions
            .change(&it.project, &it.session, seq, |session| {
                session.over = Some(it.at);
                session.gone = true;
            });
    }

    /// Where a session's hook belongs: its project, its first id, and whether its id is another by now.
    pub fn place_of(&self, hook: &crate::command::Hook) -> (Key, Option<InboxName>) {
        let alias = |key: &InboxName| (*key != hook.id).then(|| hook.id.clone());
        let name = hook.given.as_ref().unwrap_or(&hook.id);
        let of_process = || {
            let process = hook.info.process.as_ref();
            let process = process.filter(|it| it.started.is_some() && hook.given.is_none())?;
            self.sessions.with_process(process)
        };
        let known = self.known_place(&hook.project, name).or_else(of_process);
        let (project, key) = known.unwrap_or_else(|| (hook.project.clone(), name.clone()));
        let alias = alias(&key);
        ((project, key), alias)
    }
}
