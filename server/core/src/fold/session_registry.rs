//! The registry: how sessions are registered, named, made primary and ended.

use hub_protocol::{InboxName, Kind, Process, ProjectName, SessionInfo, SessionState, Timestamp};
use serde_json::json;

use super::session::{Registered, Session, SessionDue, SessionKey, changed};
use super::transaction::Transaction;
use super::{Leased, State, texts};
use crate::command::{AgentEvent, Hook, Refusal};
use crate::record::{InboxClosed, PrimaryTaken, Record, SessionEnded, SessionSet};

/// The highest number that is added to a name that several sessions want.
const MAX_NUMBER: usize = 99;
/// The most bytes of a short name.
const MAX_NAME: usize = 40;

impl State {
    /// Returns the session with this first id.
    pub fn session(&self, project: &ProjectName, key: &InboxName) -> Option<&Session> {
        self.sessions.get(project, key)
    }

    /// Returns the sessions of one project, or of all.
    pub fn sessions(
        &self,
        project: Option<&ProjectName>,
    ) -> impl Iterator<Item = (&ProjectName, &InboxName, &Session)> {
        self.sessions.iter(project)
    }

    /// Returns the primary of a project: the session that the person talks to.
    pub fn primary(&self, project: &ProjectName) -> Option<&InboxName> {
        self.sessions.primary(project)
    }

    /// Whether a worker of the session is working.
    pub fn has_busy_workers(&self, project: &ProjectName, key: &InboxName) -> bool {
        self.sessions.busy_workers(project, key) > 0
    }

    /// Returns the first id of the session with this id or name, or the name itself if there is none.
    pub fn resolve<'a>(&'a self, project: &ProjectName, name: &'a InboxName) -> &'a InboxName {
        self.sessions
            .resolve(project, name.as_str())
            .unwrap_or(name)
    }

    /// Returns the name for people of the session with this id or name, if it differs from `id`.
    pub fn other_name(&self, project: &ProjectName, id: &InboxName) -> Option<&str> {
        let name = self
            .session(project, self.resolve(project, id))?
            .shown_name();
        name.filter(|name| *name != id.as_str())
    }

    /// Returns [`State::other_name`], or `id` itself.
    pub fn shown_name<'a>(&'a self, project: &ProjectName, id: &'a InboxName) -> &'a str {
        self.other_name(project, id).unwrap_or(id.as_str())
    }

    /// Returns the session with this id or name in this project, or else the agent's session with this id in any
    /// project.
    pub fn find_key(&self, project: &ProjectName, name: &InboxName) -> Option<SessionKey> {
        let here = self.sessions.resolve(project, name.as_str());
        let here = here.map(|key| (project.clone(), key.clone()));
        here.or_else(|| self.sessions.with_id(name))
    }

    /// Returns [`State::find_key`], or the given project and name.
    pub fn resolve_key(&self, project: ProjectName, name: InboxName) -> SessionKey {
        let known = self.find_key(&project, &name);
        known.unwrap_or((project, name))
    }

    /// Returns the project of the agent's session with this id, or else of the session that was last heard in `cwd`.
    pub fn last_project(&self, id: Option<&InboxName>, cwd: Option<&str>) -> Option<ProjectName> {
        let by_id = id.and_then(|id| self.sessions.with_id(id));
        let there = self.sessions.iter(None).filter(|(_, _, session)| {
            let info = session.info();
            cwd.is_some() && info.and_then(|it| it.cwd.as_deref()) == cwd
        });
        let last = there.max_by_key(|(_, _, session)| session.touched);
        by_id
            .map(|(project, _)| project)
            .or_else(|| last.map(|(project, _, _)| project.clone()))
    }

    /// Finds a session by id, alias, short name, or a unique prefix of one of these.
    pub fn find_session(
        &self,
        project: &ProjectName,
        name: &InboxName,
    ) -> Result<SessionKey, Refusal> {
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
        let found = self.sessions.iter(Some(project));
        let found: Vec<_> = found
            .filter(|(_, key, session)| begins(key, session))
            .collect();
        let mut alive = found.iter().filter(|(_, _, session)| session.is_alive());
        match (alive.next(), alive.next(), found.as_slice()) {
            (Some((_, key, _)), None, _) | (None, _, [(_, key, _)]) => {
                Ok((project.clone(), (*key).clone()))
            }
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
            elsewhere: self.session_elsewhere(project, name).cloned(),
        }
    }

    pub(super) fn decide_register(
        &self,
        project: &ProjectName,
        session: &InboxName,
        info: &SessionInfo,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let key = self.resolve(project, session);
        self.with_room(self.set_session((project, key), info, None, None, now), now)
    }

    /// Returns the record of a session's new properties, or `None` if nothing changed.
    pub(super) fn set_session(
        &self,
        (project, key): (&ProjectName, &InboxName),
        info: &SessionInfo,
        alias: Option<&InboxName>,
        hook: Option<&Hook>,
        at: Timestamp,
    ) -> Option<Record> {
        let hooks = hook.is_some();
        let known = self.session(project, key);
        let registered = known.and_then(|it| it.registered.as_ref());
        let mut info = info.clone();
        // The title is set in the agent, where it is meant as the session's name.
        let title = hooks.then(|| new_title(known, &info)).flatten();
        let title = title.filter(|it| it.contains(|c: char| c.is_ascii_alphabetic()));
        info.name = match (known.and_then(Session::name), title) {
            (Some(_), None) => None,
            (_, title) => {
                let wish = preferred_name(key, known, &info, title);
                let process = hook.and_then(Hook::process);
                Some(self.free_name(project, key, &wish, process))
            }
        };
        let blank = SessionInfo::default();
        let info = changed(registered.map_or(&blank, |it| &it.info), &info);
        let alias = alias.filter(|alias| {
            *alias != key && !registered.is_some_and(|it| it.aliases.contains(alias))
        });
        let is_new = registered.is_none_or(|it| !it.hooks && hooks)
            || known.is_some_and(|it| !it.is_alive())
            || alias.is_some()
            || info != blank;
        is_new.then(|| {
            Record::SessionSet(SessionSet {
                info: info.into(),
                alias: alias.cloned(),
                hooks,
                ..SessionSet::of((project, key), at)
            })
        })
    }

    /// Whether a hook reports a title that differs from the known one.
    pub(super) fn is_retitled(
        &self,
        (project, key): (&ProjectName, &InboxName),
        info: &SessionInfo,
    ) -> bool {
        new_title(self.session(project, key), info).is_some()
    }

    /// Returns the name `base`, or one with a number, that no other session of the project has; without one, the session's id.
    /// An ended session gives its name up, and so does one that its process leaves for this one.
    fn free_name(
        &self,
        project: &ProjectName,
        key: &InboxName,
        base: &str,
        process: Option<&Process>,
    ) -> String {
        let numbered = (2..=MAX_NUMBER).map(|n| format!("{base}-{n}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        let is_inbox = |name: &str| {
            let inbox = name.parse().ok().filter(|it| it != key);
            inbox.is_some_and(|it| self.inboxes.get(project, &it).is_some())
        };
        let taken =
            |name: &str| self.sessions.is_taken(project, name, key, process) || is_inbox(name);
        let free = names.find(|name| !taken(name));
        free.unwrap_or_else(|| key.to_string())
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

    /// Ends a session, because it reported its end or its process exited.
    pub(super) fn decide_end(
        &self,
        project: &ProjectName,
        session: &InboxName,
        (exited, quiet): (bool, bool),
        process: Option<&Process>,
        now: Timestamp,
        leased: &Leased<'_>,
    ) -> Result<Vec<Record>, Refusal> {
        let (project, key) = &self.find_session(project, session)?;
        let Some(known) = self.session(project, key).filter(|it| it.is_alive()) else {
            return Ok(Vec::new());
        };
        let mut transaction = Transaction::new(self, now, leased);
        if let Some(process) = process
            && !transaction.leave_process(&(project.clone(), key.clone()), process)
        {
            return Ok(transaction.finish());
        }
        let unfinished = matches!(
            known.state,
            Some(SessionState::Working | SessionState::Blocked)
        );
        let name = texts::name(key, Some(known));
        let (kind, msg) = match (exited, unfinished) {
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
        let place = (project, key);
        if !quiet {
            let mut draft = transaction.draft(place, kind, msg);
            // Its end adds nothing to what it completed.
            draft.recorded = kind == Kind::Ended && known.state == Some(SessionState::Complete);
            transaction.post(&draft)?;
        }
        transaction.leave(place);
        if quiet {
            // The session's last notification replaces its questions, because no reader is left for an answer.
            transaction.withdraw_questions_of(place, "ended", |_| true);
        }
        if exited || quiet {
            transaction.also([Record::SessionEnded(SessionEnded {
                project: project.clone(),
                session: key.clone(),
                at: now,
                ended: !exited,
            })]);
        }
        Ok(transaction.finish())
    }

    /// Returns the text about a session that stopped while its background work or its workers still run.
    pub(super) fn still_busy(&self, (project, key): (&ProjectName, &InboxName)) -> String {
        let session = self.session(project, key);
        let tasks = session.map_or(0, |it| it.turn.tasks.len());
        let name = texts::name(key, session);
        let workers = self.sessions.busy_workers(project, key);
        format!("Agent {name} stopped, {}", texts::running(tasks, workers))
    }

    pub(super) fn apply_gone(&mut self, seq: u64, it: &SessionEnded) {
        self.sessions
            .change(&it.project, &it.session, seq, |session| {
                session.end(it.at, !it.ended);
            });
    }

    /// Returns the session of a hook event by project and first id, and the event's own id if it differs from that.
    pub fn key_of_hook(&self, hook: &Hook) -> (SessionKey, Option<InboxName>) {
        let alias = |key: &InboxName| (*key != hook.id).then(|| hook.id.clone());
        let name = hook.given.as_ref().unwrap_or(&hook.id);
        // A process that begins another session continues the one that it runs, for example after `/clear`.
        let of_process = || {
            let begins = hook.given.is_none() && hook.happened == AgentEvent::Started;
            let process = hook.process().filter(|_| begins)?;
            let runs = self.sessions.with_process(process);
            let last = runs.max_by_key(|(_, session)| session.touched);
            last.map(|(place, _)| place)
        };
        let here = self.sessions.resolve(&hook.project, name.as_str());
        let here = here.map(|key| (hook.project.clone(), key.clone()));
        // A given name means another session in another project, unless the agent gives that session the same id.
        let is_same = |(_, key): &SessionKey| hook.given.as_ref().is_none_or(|given| given == key);
        let elsewhere = || self.sessions.with_id(&hook.id).filter(is_same);
        let known = here.or_else(elsewhere).or_else(of_process);
        let (project, key) = known.unwrap_or_else(|| (hook.project.clone(), name.clone()));
        let alias = alias(&key);
        ((project, key), alias)
    }
}

impl Transaction<'_> {
    /// Ends a session's listeners and withdraws its dialogs, which can no longer be answered.
    pub(super) fn leave(&mut self, (project, key): (&ProjectName, &InboxName)) {
        self.withdraw_stale((project, key));
        self.withdraw_dialogs((project, key), |_| true);
        self.remove_listeners_of(project, key);
    }

    /// Adds the changes of sessions that are due.
    pub(super) fn due_sessions(&mut self) {
        let state = self.state;
        for ((project, key), due) in state.sessions.due(self.now) {
            let place = (project, key);
            let name = texts::name(key, state.session(project, key));
            let (kind, msg, data) = match due {
                SessionDue::Waits => (Kind::Waiting, state.still_busy(place), None),
                SessionDue::Fails(reason) => {
                    let msg = format!("Agent {name} failed: {reason}");
                    (
                        Kind::Error,
                        msg,
                        Some(json!({ "via": "hook", "said": reason })),
                    )
                }
                SessionDue::InboxCloses => {
                    self.also([Record::InboxClosed(InboxClosed {
                        project: project.clone(),
                        inbox: key.clone(),
                        at: self.now,
                    })]);
                    continue;
                }
            };
            let mut draft = self.draft(place, kind, msg);
            draft.body.data = data;
            self.post_or_record(draft);
        }
    }
}

/// Returns the title in `info`, if it differs from the known one.
fn new_title<'a>(known: Option<&Session>, info: &'a SessionInfo) -> Option<&'a str> {
    let known = known
        .and_then(Session::info)
        .and_then(|it| it.title.as_ref());
    let reported = info.title.as_ref().filter(|it| !it.trim().is_empty());
    reported.filter(|it| Some(*it) != known).map(String::as_str)
}

/// Returns a session's preferred name: its title, its requested or former name, its directory, its agent or its id; the
/// first that has a letter or a digit of ASCII, because the name is an address.
fn preferred_name(
    key: &InboxName,
    known: Option<&Session>,
    info: &SessionInfo,
    title: Option<&str>,
) -> String {
    let former = known.and_then(Session::shown_name);
    let dir = info.cwd.as_deref();
    let dir = dir.and_then(|it| it.rsplit('/').find(|it| !it.is_empty()));
    let wishes = [
        title,
        info.name.as_deref(),
        former,
        dir,
        info.agent.as_deref(),
        Some(key.as_str()),
    ];
    let mut names = wishes.into_iter().flatten().map(sanitized);
    let name = names.find(|it| !it.is_empty());
    name.unwrap_or_else(|| "session".into())
}

/// Converts `wish` to a name of letters, digits, `.`, `_` and `-`, without `..`; empty if it has none of the first two.
fn sanitized(wish: &str) -> String {
    let mut name = String::new();
    for c in wish.chars() {
        let is_kept = c.is_ascii_alphanumeric() || "._-".contains(c);
        let c = if is_kept { c } else { '-' };
        let first = name.is_empty() && !c.is_ascii_alphanumeric();
        let doubled = (c == '.' || !is_kept) && name.ends_with(c);
        if name.len() < MAX_NAME && !first && !doubled {
            name.push(c);
        }
    }
    name.truncate(name.trim_end_matches('-').len());
    name
}
