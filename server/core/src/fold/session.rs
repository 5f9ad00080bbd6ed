//! A session: its state, its properties and its turn.

use hub_protocol::{
    InboxName, Process, ProjectName, Seq, SessionInfo, SessionState, Timestamp, Way,
};
use serde::{Deserialize, Serialize};

use super::session_room::size_of;
use super::turn;
use crate::record::{SessionSet, Turn, TurnCause};

/// How long a stop with background work, or a failed model, may last before it is reported, in milliseconds.
pub(super) const PATIENCE_MS: i64 = 10 * 60 * 1000;
/// How long after its last worker has stopped a session that waited for it counts as waiting, in milliseconds: usually that
/// wakes it.
const WOKEN_WITHIN_MS: i64 = 10 * 1000;
/// The time within which the sessions with the same limit go on, in seconds.
const RESUMED_WITHIN_S: u64 = 60;
/// How long after its end a session's inbox is closed, in milliseconds.
const INBOX_KEPT_MS: i64 = 24 * 3600 * 1000;
/// The most ids, and the most short names from before, that mean one session; the oldest no longer does then.
const MAX_NAMES: usize = 64;
/// The beginning of the names under which `hub-acp` waits.
const ACP_CLIENT: &str = "acp:";
/// The most processes beside the last one that run a session at a time.
const MAX_PROCESSES: usize = 4;

/// A session, as recorded in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The state that it last reported, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// The record that reported the state.
    pub seq: Seq,
    /// When the state began.
    pub ts: Timestamp,
    /// The source of the report, shown to people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// The session's last notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Seq>,
    /// Its last notification that asks nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoke: Option<Seq>,
    /// The question with which a turn ended, and when: the turns that the hub or a task begins do not answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<(Seq, Timestamp)>,
    /// The session's properties, if it was ever registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<Registered>,
    /// When the session last reported that it works, in this state or an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<Timestamp>,
    /// When the session ended; `None` while it is alive.
    #[serde(default, rename = "over", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Whether its process exited without reporting an end.
    #[serde(default, rename = "gone", skip_serializing_if = "std::ops::Not::not")]
    pub crashed: bool,
    /// That the person closed what the session needs in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    closed: Option<Closed>,
    /// Other processes that run it too, the last one last: each of them opened it, and has neither ended nor left it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) others: Vec<Process>,
    /// The state of its turn.
    #[serde(default, skip_serializing_if = "TurnState::is_default")]
    pub(super) turn: TurnState,
    /// The last record that concerned the session. The session that was silent for longest is forgotten first.
    #[serde(default)]
    pub(super) touched: Seq,
}

/// The person's end of what a session needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Closed {
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
}

/// The registration of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// The record that first registered the session.
    pub seq: Seq,
    /// When it began, or resumed after its end.
    #[serde(default)]
    pub since: Timestamp,
    /// The session's properties.
    pub info: SessionInfo,
    /// Other ids that mean this session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<InboxName>,
    /// Short names from before it was renamed, which still mean this session in its own project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub old_names: Vec<InboxName>,
    /// Whether its agent's hooks have reported it.
    #[serde(default)]
    pub hooks: bool,
    /// Whether `hub-acp` speaks with its agent, and reports what its hooks would.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acp: bool,
    /// Whether `hubctl run` runs a command as the session, and no agent in the command has reported it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs: bool,
    /// The short name that it had until another session took it after this one's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
    /// The bytes of `info` as JSON.
    #[serde(skip)]
    size: usize,
}

/// The state of a session's turn, as its hooks report it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TurnState {
    pub(super) by: TurnCause,
    /// Its first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first: Option<Seq>,
    /// Whether a notification of the session has already reported the turn's end.
    #[serde(default)]
    pub(super) signalled: bool,
    /// Whether the turn stopped and no other began since.
    #[serde(default)]
    pub(super) stopped: bool,
    /// Descriptions of background work that ran at the last stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tasks: Vec<String>,
    /// When a stop with background work or working workers counts as waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) waits_from: Option<Timestamp>,
    /// When a model failure counts as an error, and the agent's error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fails_from: Option<(Timestamp, String)>,
    /// When the agent may go on after its model failed, if it reported that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    goes_on_at: Option<Timestamp>,
    /// Whether the hub lets it go on then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    resumes: bool,
    /// The state before the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<SessionState>,
}

impl Registered {
    /// Returns the names that mean the session besides its first id and its short name.
    pub fn other_names(&self) -> impl Iterator<Item = &InboxName> {
        self.aliases.iter().chain(&self.old_names)
    }

    /// Returns the bytes of the properties as JSON.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Notes the size of the properties after they changed.
    pub(super) fn measure(&mut self) {
        self.size = size_of(&self.info);
    }

    /// Keeps the short name that `record` replaces.
    fn keep_old_name(&mut self, record: &SessionSet) {
        let Some(name) = record.info.name.as_deref() else {
            return;
        };
        let old = self.info.name.as_deref().filter(|old| *old != name);
        self.old_names.extend(old.and_then(|old| old.parse().ok()));
        self.old_names.retain(|old| old.as_str() != name);
    }
}

impl TurnState {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A change of a session that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionDue {
    /// Its background work has run for so long that the session counts as waiting.
    Waits,
    /// Its model failed, and no event followed.
    Fails(String),
    /// Its limit has ended, and the hub lets it go on.
    Resumes,
    /// Its inbox must be closed.
    InboxCloses,
}

impl Session {
    /// Whether the session has not ended.
    pub fn is_alive(&self) -> bool {
        self.ended_at.is_none()
    }

    /// Whether the hooks of its agent prove deliveries.
    pub fn has_hooks(&self) -> bool {
        self.is_alive() && self.registered.as_ref().is_some_and(|it| it.hooks)
    }

    /// Whether it has stopped, and not for an error.
    pub(super) fn waits_for_prompt(&self) -> bool {
        let works_or_failed = |it| matches!(it, SessionState::Working | SessionState::Error);
        self.is_alive() && self.state.is_some_and(|it| !works_or_failed(it))
    }

    /// When the person closed what the session needs, unless it has opened again.
    pub fn closed_at(&self, now: Timestamp) -> Option<Timestamp> {
        let closed = self.closed.as_ref();
        let closed = closed.filter(|it| it.until.is_none_or(|until| now < until))?;
        Some(closed.at)
    }

    /// Closes what the session needs, until it reports something else.
    pub(super) fn close_need(&mut self, at: Timestamp, until: Option<Timestamp>) {
        self.closed = Some(Closed { at, until });
        if until.is_none() {
            self.asked = None;
        }
    }

    /// Notes that its process ended.
    pub(super) fn end(&mut self, at: Timestamp, crashed: bool) {
        (self.ended_at, self.crashed) = (Some(at), crashed);
        if crashed {
            self.closed = None;
        }
    }

    /// Returns the session's properties, if it is registered.
    pub fn info(&self) -> Option<&SessionInfo> {
        self.registered.as_ref().map(|it| &it.info)
    }

    /// Returns the processes that run the session, the one of its last event first.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        let last = self.info().and_then(|it| it.process.as_ref());
        last.into_iter().chain(self.others.iter().rev())
    }

    /// Whether `hub-acp` speaks with its agent: then the agent's hooks repeat what `hub-acp` reports.
    pub fn has_acp_client(&self) -> bool {
        self.is_alive() && self.registered.as_ref().is_some_and(|it| it.acp)
    }

    /// Whether `hubctl run` runs it: it works until the end of its command, and reports nothing before.
    pub fn is_job(&self) -> bool {
        self.is_alive() && self.registered.as_ref().is_some_and(|it| it.runs)
    }

    /// Whether a waiter must leave it to `hub-acp`, whose client would not see the turn that the waiter begins.
    pub fn is_left_to_client(&self, way: Option<Way>, waiter: Option<&str>) -> bool {
        let begins = way.is_some_and(|it| !matches!(it, Way::Wait | Way::Hook));
        let is_client = waiter.is_some_and(|it| it.starts_with(ACP_CLIENT));
        self.has_acp_client() && begins && !is_client
    }

    /// Whether this process, which reports it by hooks, is the only one that runs the session.
    pub(super) fn runs_only_in(&self, process: &Process) -> bool {
        let mut processes = self.processes().peekable();
        self.has_hooks() && processes.peek().is_some() && processes.all(|it| it == process)
    }

    /// Returns the short name that means the session.
    pub fn name(&self) -> Option<&str> {
        self.info()?.name.as_deref()
    }

    /// Returns the name for people: the short name, or the former one.
    pub fn shown_name(&self) -> Option<&str> {
        let former = || self.registered.as_ref()?.former.as_deref();
        self.name().or_else(former)
    }

    /// Whether the session is in a turn that has neither stopped nor failed.
    pub fn is_in_turn(&self) -> bool {
        self.state == Some(SessionState::Working)
            && !self.turn.stopped
            && self.turn.fails_from.is_none()
    }

    /// Whether its turn stopped and no other began since.
    pub(super) fn has_stopped(&self) -> bool {
        self.turn.stopped
    }

    /// Whether background tasks ran at the last stop.
    pub(super) fn has_tasks(&self) -> bool {
        !self.turn.tasks.is_empty()
    }

    /// Whether it is at work, as far as others that wait for it are concerned.
    pub(super) fn is_busy(&self) -> bool {
        self.is_alive() && self.state == Some(SessionState::Working)
    }

    /// Whether it has stopped for now, and has no task of its own that could go on.
    pub(super) fn waits_for_workers(&self) -> bool {
        self.turn.waits_from.is_some() && !self.has_tasks()
    }

    /// Notes that no worker for which it waits is at work any more.
    pub(super) fn note_idle_workers(&mut self, at: Timestamp) {
        let soon = at.plus_millis(WOKEN_WITHIN_MS);
        if self.waits_for_workers() {
            self.turn.waits_from = self.turn.waits_from.map(|from| from.min(soon));
        }
    }

    /// Returns when its model failed, and the agent's error message, while the agent may recover by itself.
    pub(super) fn failure(&self) -> Option<(Timestamp, &str)> {
        let (reported_at, reason) = self.turn.fails_from.as_ref()?;
        Some((reported_at.plus_millis(-PATIENCE_MS), reason))
    }

    /// Returns when the agent may go on after its model failed, if it reported that.
    pub(super) fn goes_on_at(&self) -> Option<Timestamp> {
        self.turn.goes_on_at
    }

    /// Returns when the hub can let it go on, and whether it will, if it is blocked by a limit whose end is known. Sessions
    /// with the same limit go on one after another, within a minute after its end.
    pub fn resume(&self) -> Option<(Timestamp, bool)> {
        let blocked = self.failure().is_some() || self.state == Some(SessionState::Error);
        let ends_at = self
            .turn
            .goes_on_at
            .filter(|_| blocked && self.is_alive())?;
        let registered = self.registered.as_ref().filter(|_| !self.is_headless())?;
        let spread = i64::try_from(registered.seq % RESUMED_WITHIN_S).unwrap_or_default();
        Some((ends_at.plus_millis(spread * 1000), self.turn.resumes))
    }

    /// Returns when the session last reported a state or its registration.
    pub(super) fn last_news(&self) -> Timestamp {
        let since = self.registered.as_ref().map(|it| it.since);
        let times = [Some(self.ts), self.worked, since];
        times.into_iter().flatten().max().unwrap_or_default()
    }

    /// Whether it answers one prompt and ends, so that nothing can wake it.
    pub fn is_headless(&self) -> bool {
        self.info().is_some_and(|it| it.headless == Some(true))
    }

    /// Returns the session whose worker this one is.
    pub fn parent(&self) -> Option<&InboxName> {
        self.info()?.parent.as_ref()
    }

    /// Applies a state that a notification reported. `is_word` is whether it says how the turn ends.
    pub(super) fn note_state(
        &mut self,
        state: SessionState,
        seq: Seq,
        ts: Timestamp,
        what: &str,
        is_word: bool,
    ) {
        if turn::begins(Some(self), self.state, state) {
            self.turn.first = Some(seq);
        }
        (self.state, self.seq, self.ts) = (Some(state), seq, ts);
        self.closed = None;
        what.clone_into(&mut self.evidence);
        if is_word {
            self.turn.signalled = state != SessionState::Working;
        }
        self.turn.fails_from = None;
        if state == SessionState::Working {
            self.worked = Some(ts);
        } else {
            self.turn.waits_from = None;
        }
        if state == SessionState::Ended {
            self.ended_at = Some(ts);
        } else {
            (self.ended_at, self.crashed) = (None, false);
        }
    }

    /// Returns the bytes of the session's properties as JSON.
    pub(super) fn size(&self) -> usize {
        self.registered.as_ref().map_or(0, Registered::size)
    }

    /// Applies new properties. Returns the names that no longer mean the session.
    pub(super) fn set(&mut self, seq: Seq, record: &SessionSet) -> Vec<InboxName> {
        let it = self.registered.get_or_insert_with(|| Registered {
            seq,
            since: record.at,
            ..Registered::default()
        });
        it.keep_old_name(record);
        if self.ended_at.is_some() {
            self.others.clear();
            (it.acp, it.runs) = (false, false);
        }
        merge(&mut it.info, &record.info);
        let is_other = |process: &Process| {
            it.info.process.as_ref() != Some(process) && record.left.as_ref() != Some(process)
        };
        self.others.retain(is_other);
        let also = record.also.iter().filter(|it| is_other(it));
        self.others.extend(also.cloned());
        let surplus = self.others.len().saturating_sub(MAX_PROCESSES);
        self.others.drain(..surplus);
        it.measure();
        it.hooks |= record.hooks;
        it.acp |= record.acp;
        it.runs = record.runs.unwrap_or(it.runs && !record.hooks);
        if let Some(alias) = &record.alias
            && !it.aliases.contains(alias)
        {
            it.aliases.push(alias.clone());
        }
        let mut dropped = Vec::new();
        for names in [&mut it.aliases, &mut it.old_names] {
            dropped.extend(names.drain(..names.len().saturating_sub(MAX_NAMES)));
        }
        if self.ended_at.take().is_some() {
            it.since = record.at;
            (self.crashed, self.state, self.closed) = (false, None, None);
        }
        if self.ts == Timestamp::default() {
            self.ts = record.at;
        }
        // The agent has begun, and waits for its first prompt.
        if record.runs == Some(false) && self.state == Some(SessionState::Working) {
            (self.state, self.turn) = (None, TurnState::default());
        }
        dropped
    }

    pub(super) fn note_turn(&mut self, seq: Seq, turn: &Turn, evidence: &str, at: Timestamp) {
        if !evidence.is_empty() {
            evidence.clone_into(&mut self.evidence);
        }
        match turn {
            Turn::Began { by, first } => {
                if matches!(by, TurnCause::Person | TurnCause::Agent | TurnCause::Peer) {
                    self.asked = None;
                }
                let before = self.state.filter(|state| *state != SessionState::Working);
                // A turn of the hub's own waiter is no news, so the stop before it is still to be told.
                let waits_from = self.turn.waits_from;
                self.turn = TurnState {
                    by: *by,
                    first: first.or(Some(seq)),
                    tasks: std::mem::take(&mut self.turn.tasks),
                    waits_from: waits_from.filter(|_| *by == TurnCause::Timeout),
                    before: before.or(self.turn.before),
                    ..TurnState::default()
                };
                (self.state, self.seq, self.ts) = (Some(SessionState::Working), seq, at);
                (self.worked, self.closed) = (Some(at), None);
            }
            Turn::Stopped { tasks, silent, .. } => {
                self.turn.stopped = true;
                self.turn.tasks.clone_from(tasks);
                if self.state == Some(SessionState::Waiting) && !silent {
                    self.asked = self.last.map(|id| (id, self.ts));
                }
                let works = self.state == Some(SessionState::Working);
                if works && !silent {
                    self.turn.waits_from = Some(at.plus_millis(PATIENCE_MS));
                } else if works && self.turn.waits_from.is_none() {
                    self.state = self.turn.before.or(Some(SessionState::Waiting));
                    (self.seq, self.ts) = (seq, at);
                    self.closed = None;
                }
            }
            Turn::Failed {
                reason,
                until,
                resumes,
            } => {
                self.turn.fails_from = Some((at.plus_millis(PATIENCE_MS), reason.clone()));
                (self.turn.goes_on_at, self.turn.resumes) = (*until, *resumes);
                // It is the first that is known of it.
                if self.state.is_none() {
                    (self.seq, self.ts) = (seq, at);
                }
                self.closed = None;
            }
            Turn::Attributed { by } => self.turn.by = *by,
            Turn::Resumes { on } => self.turn.resumes = *on,
        }
    }

    /// Returns the next change that is due, and when.
    pub(super) fn due(&self) -> Option<(Timestamp, SessionDue)> {
        if let Some(over) = self.ended_at {
            let closes = self.registered.is_some();
            return closes.then(|| (over.plus_millis(INBOX_KEPT_MS), SessionDue::InboxCloses));
        }
        let waits = self.turn.waits_from.map(|at| (at, SessionDue::Waits));
        let fails = self.turn.fails_from.clone();
        let fails = fails.map(|(at, reason)| (at, SessionDue::Fails(reason)));
        let resumes = self.resume().filter(|(_, on)| *on);
        let resumes = resumes.map(|(at, _)| (at, SessionDue::Resumes));
        [waits, fails, resumes]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)
    }

    /// Moves every time by `delta_ms`, but not when it began: that tells it from an earlier life of the session.
    pub(super) fn shift(&mut self, delta_ms: i64) {
        let turn = &mut self.turn;
        let is_known = self.ts != Timestamp::default();
        let closed = self.closed.as_mut();
        let (closed_at, until) = closed.map(|it| (&mut it.at, &mut it.until)).unzip();
        let times = [
            is_known.then_some(&mut self.ts),
            self.asked.as_mut().map(|(_, at)| at),
            self.worked.as_mut(),
            self.ended_at.as_mut(),
            closed_at,
            until.and_then(Option::as_mut),
            turn.waits_from.as_mut(),
            turn.fails_from.as_mut().map(|(at, _)| at),
            turn.goes_on_at.as_mut(),
        ];
        for at in times.into_iter().flatten() {
            *at = at.plus_millis(delta_ms);
        }
    }
}

/// Calls a macro with the names of all fields of a [`SessionInfo`].
macro_rules! with_info_fields {
    ($macro:ident) => {
        $macro!(
            name,
            agent,
            host,
            cwd,
            parent,
            role,
            main_worktree,
            headless,
            process,
            branch,
            repository,
            pane,
            pane_delivery,
            title,
            metadata
        )
    };
}

/// Copies the fields that `new` contains.
pub(super) fn merge(known: &mut SessionInfo, new: &SessionInfo) {
    macro_rules! copy {
        ($($field:ident),*) => { $( if new.$field.is_some() { known.$field.clone_from(&new.$field); } )* };
    }
    with_info_fields!(copy);
}

/// Returns the fields of `reported` that differ from `known`.
pub(super) fn changed(known: &SessionInfo, reported: &SessionInfo) -> SessionInfo {
    let mut merged = known.clone();
    merge(&mut merged, reported);
    macro_rules! differing {
        ($($field:ident),*) => { SessionInfo { $( $field: merged.$field.filter(|it| known.$field.as_ref() != Some(it)), )* } };
    }
    with_info_fields!(differing)
}

/// The key of a session: its project and its first id.
pub type SessionKey = (ProjectName, InboxName);
