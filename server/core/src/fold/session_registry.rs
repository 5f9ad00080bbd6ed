//! The registry: how sessions are registered, named and ended.

use hub_protocol::{InboxName, Kind, Process, ProjectName, SessionInfo, SessionState, Timestamp};
use serde_json::json;

use super::hook::WAITING;
use super::session::{Session, SessionDue, changed};
use super::session_reports::resumes;
use super::sessions::Sessions;
use super::transaction::Transaction;
use super::{Leased, State, texts};
use crate::command::{Hook, Refusal};
use crate::record::{InboxClosed, Record, SessionEnded, SessionSet, Turn, TurnCause, TurnNoted};

/// The highest number that is added to a name that several sessions want.
const MAX_NUMBER: usize = 99;
/// The most bytes of a short name.
const MAX_NAME: usize = 40;
/// The text with which a session goes on after its limit.
const LIMIT_OVER: &str = "Your usage limit has ended: go on with what you were doing.";

impl State {
    /// Registers a session, or updates its properties. `runs` is whether `hubctl run` runs a command as the session, which is
    /// at work from now on.
    pub(super) fn decide_register(
        &self,
        (project, session): (&ProjectName, &InboxName),
        info: &SessionInfo,
        runs: bool,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let key = self.sessions.registered_as(project, session, runs);
        let known = self.sessions.get(project, key);
        let set = self.set_session((project, key), info, None, None, now);
        // An agent in the command may have been faster, and reports its turns itself.
        if !runs || known.is_some_and(|it| it.has_hooks() || it.is_job()) {
            return self.with_room(set, now);
        }
        let set = with_job(set, (project, key), true, now);
        let mut records = self.with_room(Some(set), now)?;
        records.push(Record::TurnNoted(TurnNoted {
            project: project.clone(),
            session: key.clone(),
            turn: Turn::Began {
                by: TurnCause::Agent,
                first: None,
            },
            evidence: "hubctl run".into(),
            at: now,
        }));
        Ok(records)
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
        let acp = hook.is_some_and(|it| it.acp);
        let known = self.sessions.get(project, key);
        let registered = known.and_then(|it| it.registered.as_ref());
        let mut info = info.clone();
        // The title is set in the agent, where it is meant as the session's name.
        let title = hooks.then(|| new_title(known, &info)).flatten();
        let title = title.filter(|it| it.contains(|c: char| c.is_ascii_alphabetic()));
        // Hooks ask for the same name each time, also after the session got another one.
        let asked = info.name.as_deref().filter(|_| !hooks).map(sanitized);
        let keeps = |name: &str| asked.as_ref().is_none_or(|it| is_form_of(name, it));
        info.name = match (known.and_then(Session::name), title) {
            (Some(name), None) if keeps(name) => None,
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
        let is_new = registered.is_none_or(|it| !it.hooks && hooks || !it.acp && acp)
            || known.is_some_and(|it| !it.is_alive())
            || alias.is_some()
            || info != blank;
        is_new.then(|| {
            Record::SessionSet(SessionSet {
                info: info.into(),
                alias: alias.cloned(),
                hooks,
                acp,
                ..SessionSet::of((project, key), at)
            })
        })
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
        let (project, key) = &self.sessions.find(project, session)?;
        let Some(known) = self.sessions.get(project, key).filter(|it| it.is_alive()) else {
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
        // How it failed stays: that its process is gone too is no news about it.
        let has_failed = exited && known.state == Some(SessionState::Error);
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
            draft.keeps_state = has_failed;
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
                ended: !exited || has_failed,
            })]);
        }
        Ok(transaction.finish())
    }
}

impl Sessions {
    /// Whether a short name belongs to another session, which this process does not leave, or is reserved.
    pub(super) fn is_taken(
        &self,
        project: &ProjectName,
        name: &str,
        key: &InboxName,
        process: Option<&Process>,
    ) -> bool {
        let other = self.key_of(project, name).filter(|of| *of != key);
        // An ended session keeps its id but gives up its name.
        let stays = |it: &Session| it.is_alive() && !process.is_some_and(|by| it.runs_only_in(by));
        let holds =
            |of: &InboxName| of.as_str() == name || self.get(project, of).is_some_and(stays);
        let reserved = hub_protocol::looks_reserved(name);
        reserved || other.is_some_and(holds)
    }

    /// Whether a hook reports a title that differs from the known one.
    pub(super) fn is_retitled(
        &self,
        (project, key): (&ProjectName, &InboxName),
        info: &SessionInfo,
    ) -> bool {
        new_title(self.get(project, key), info).is_some()
    }

    /// Returns the text about a session that stopped while its background work or its workers still run.
    pub(super) fn still_busy(&self, (project, key): (&ProjectName, &InboxName)) -> String {
        let session = self.get(project, key);
        let tasks = session.map_or(0, |it| it.turn.tasks.len());
        let name = texts::name(key, session);
        let workers = self.busy_workers(project, key);
        match tasks + workers {
            0 => format!("Agent {name} stopped"),
            _ => format!("Agent {name} stopped, {}", texts::running(tasks, workers)),
        }
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
            let name = texts::name(key, state.sessions.get(project, key));
            let (kind, msg, data) = match due {
                SessionDue::Waits => (Kind::Waiting, state.sessions.still_busy(place), None),
                SessionDue::Fails(reason) => {
                    let msg = format!("Agent {name} failed: {reason}");
                    (
                        Kind::Error,
                        msg,
                        Some(json!({ "via": "hook", "said": reason })),
                    )
                }
                SessionDue::Resumes => {
                    self.resume_session(place);
                    continue;
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
            draft.body.key = (kind == Kind::Waiting).then(|| WAITING.into());
            draft.body.data = data;
            self.post_or_record(draft);
        }
    }

    /// Lets a session go on whose limit has ended, once.
    fn resume_session(&mut self, (project, key): (&ProjectName, &InboxName)) {
        let notice = self.notice(project, key.clone(), Kind::Message, LIMIT_OVER.into());
        self.post_or_record(notice);
        self.also([resumes((project, key), false, self.now)]);
    }
}

/// Returns the record of a session's new properties, if it has any, and whether `hubctl run` runs it.
pub(super) fn with_job(
    set: Option<Record>,
    place: (&ProjectName, &InboxName),
    runs: bool,
    at: Timestamp,
) -> Record {
    let mut set = match set {
        Some(Record::SessionSet(set)) => set,
        _ => SessionSet::of(place, at),
    };
    set.runs = Some(runs);
    Record::SessionSet(set)
}

/// Returns the title in `info`, if it differs from the known one.
fn new_title<'a>(known: Option<&Session>, info: &'a SessionInfo) -> Option<&'a str> {
    let known = known
        .and_then(Session::info)
        .and_then(|it| it.title.as_ref());
    let reported = info.title.as_ref().filter(|it| !it.trim().is_empty());
    reported.filter(|it| Some(*it) != known).map(String::as_str)
}

/// Whether a session that asked for the name `asked` may have got `name`: that name, or one with a number; any if it has no sign
/// that a name has.
fn is_form_of(name: &str, asked: &str) -> bool {
    let rest = name.strip_prefix(asked);
    let number = |it: &str| {
        it.strip_prefix('-')
            .is_some_and(|it| it.parse::<u32>().is_ok())
    };
    asked.is_empty() || rest.is_some_and(|it| it.is_empty() || number(it))
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
