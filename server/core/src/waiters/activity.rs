//! Short-lived facts about sessions: last activity, waiters that timed out, and warnings.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hub_protocol::process::started;
use hub_protocol::{FailedWay, InboxName, Process, ProjectName, Seq, Timestamp, ToolCall, Way};

use super::tool_calls::{ToolCalls, ToolReport};
use crate::agents_so_far::AgentsSoFar;
use crate::fold::{SessionKey, State};
use crate::record::TurnCause;
use crate::time::Now;

/// A turn that begins within this time after a waiter's timeout was caused by that timeout.
const TIMEOUT_ECHO: Duration = Duration::from_secs(15);
/// A turn that begins within this time after its cause was reported has that cause.
const CAUSE_ECHO: Duration = Duration::from_secs(5);
/// A module that received an answer polls again within this time, unless it died.
const MODULE_RETURNS: Duration = Duration::from_secs(3);
/// A warning that the session ignored is repeated after this time.
const WARN_AGAIN: Duration = Duration::from_secs(600);
/// The age at which the last activity of a session that is gone is forgotten, in milliseconds.
const KEPT_MS: i64 = 24 * 3600 * 1000;
/// The interval between two purges. A purge visits all sessions, and ticks come many times a second.
const FORGET_EVERY: Duration = Duration::from_secs(60);

/// Facts about sessions, gathered since the hub started.
#[derive(Debug, Default)]
pub struct Activity {
    sessions: HashMap<SessionKey, SessionActivity>,
    /// The processes that the kernel has confirmed as those of sessions.
    agents: Vec<Process>,
    agents_so_far: AgentsSoFar,
    forgot: Option<Instant>,
}

/// Facts about one session.
#[derive(Debug, Default)]
struct SessionActivity {
    seen: Option<Timestamp>,
    /// When its waiter timed out.
    timed_out: Option<Instant>,
    warned: Option<Instant>,
    /// When the poll of its module was last answered.
    module: Option<Instant>,
    /// The reported cause of the turn that begins next.
    cause: Option<(TurnCause, Instant)>,
    /// Why it cannot be woken in this way, if the hub tried.
    unreachable: Option<(Way, String)>,
    /// Why each way to wake it failed, if it is idle and the hub cannot wake it.
    failed_ways: Option<Vec<FailedWay>>,
    /// Whether its permission mode may allow everything.
    bypasses: bool,
    /// The hub's question that a form in its terminal shows.
    form: Option<Seq>,
    /// The tool calls in its turn.
    tools: ToolCalls,
    /// Whether it has done anything in its turn; `None` if the hub did not see the turn begin.
    acted: Option<bool>,
    /// Whether its inboxes have had a waiter.
    waited: bool,
}

impl Activity {
    /// The facts about a session, to change them.
    fn of(&mut self, place: SessionKey) -> &mut SessionActivity {
        self.sessions.entry(place).or_default()
    }

    /// The facts of this machine, which stay if another hub led meanwhile.
    pub(super) fn restarted(self) -> Self {
        Self {
            agents: self.agents,
            agents_so_far: self.agents_so_far,
            ..Self::default()
        }
    }

    /// Keeps the process of an agent, also after its session names another one. Those that have ended make room. `group` is
    /// its control group.
    pub fn note_agent(&mut self, process: &Process, group: Option<String>) {
        if self.agents.contains(process) {
            return;
        }
        self.agents_so_far.note(process.started, group);
        self.agents.retain(|it| started(it.pid) == it.started);
        self.agents.push(process.clone());
    }

    /// The processes of agents that were kept.
    pub(super) fn agents(&self) -> &[Process] {
        &self.agents
    }

    /// The starts and control groups of all agents, also of those that have ended.
    pub(super) fn agents_so_far(&self) -> &AgentsSoFar {
        &self.agents_so_far
    }

    /// Notes a session's activity.
    pub fn note(&mut self, place: SessionKey, at: Timestamp) {
        self.of(place).seen = Some(at);
    }

    /// Returns the times of the wall clock.
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        let sessions = self.sessions.values_mut();
        sessions.flat_map(|it| it.seen.iter_mut().chain(it.tools.times()))
    }

    /// Returns when a session was last active.
    pub fn seen(&self, project: &ProjectName, session: &InboxName) -> Option<Timestamp> {
        let place = (project.clone(), session.clone());
        self.sessions.get(&place)?.seen
    }

    /// Notes that a session's waiter timed out.
    pub(super) fn timed_out(&mut self, place: SessionKey, now: Instant) {
        self.of(place).timed_out = Some(now);
    }

    /// Notes that a session has a waiter again. An earlier timeout then only caused this new wait, so it is forgotten.
    pub(super) fn waits_on(&mut self, place: &SessionKey) {
        if let Some(it) = self.sessions.get_mut(place) {
            it.timed_out = None;
        }
    }

    /// Notes a waiter at these inboxes; inboxes that belong to no session are ignored.
    pub(super) fn note_waiter(
        &mut self,
        state: &State,
        project: &ProjectName,
        inboxes: &[InboxName],
    ) {
        for inbox in inboxes {
            if state.sessions.get(project, inbox).is_some() {
                self.of((project.clone(), inbox.clone())).waited = true;
            }
        }
    }

    pub(super) fn waited(&self, project: &ProjectName, session: &InboxName) -> bool {
        let place = (project.clone(), session.clone());
        self.sessions.get(&place).is_some_and(|it| it.waited)
    }

    /// Whether a turn that begins now was caused by a waiter's timeout; each timeout causes one turn at most.
    pub fn take_timeout(&mut self, place: &SessionKey, now: Instant) -> bool {
        let session = self.sessions.get_mut(place);
        let at = session.and_then(|it| it.timed_out.take());
        at.is_some_and(|at| now.saturating_duration_since(at) < TIMEOUT_ECHO)
    }

    /// Notes that the poll of a session's module is answered.
    pub fn note_module(&mut self, place: SessionKey, now: Instant) {
        self.of(place).module = Some(now);
    }

    pub(super) fn has_module(&self, place: &SessionKey, now: Instant) -> bool {
        let at = self.sessions.get(place).and_then(|it| it.module);
        at.is_some_and(|at| now.saturating_duration_since(at) < MODULE_RETURNS)
    }

    /// Notes whether the session's permission mode may allow everything.
    pub fn note_mode(&mut self, place: SessionKey, bypasses: bool) {
        self.of(place).bypasses = bypasses;
    }

    pub(super) fn bypasses(&self, place: &SessionKey) -> bool {
        self.sessions.get(place).is_some_and(|it| it.bypasses)
    }

    /// Notes which question of the hub a form in the session's terminal shows.
    pub fn note_form(&mut self, place: SessionKey, form: Option<Seq>) {
        self.of(place).form = form;
    }

    pub(super) fn form(&self, place: &SessionKey) -> Option<Seq> {
        self.sessions.get(place)?.form
    }

    /// Notes a report about the session's tool call `id`.
    pub fn note_tool(&mut self, place: SessionKey, id: &str, report: ToolReport) {
        self.of(place).tools.note(id, report);
    }

    /// Notes that a turn of the session began or ended, so that no tool runs.
    pub fn forget_tools(&mut self, place: &SessionKey) {
        if let Some(it) = self.sessions.get_mut(place) {
            it.tools = ToolCalls::default();
        }
    }

    /// Notes that a turn of the session began.
    pub fn begin_turn(&mut self, place: &SessionKey) {
        self.of(place.clone()).acted = Some(false);
    }

    /// Notes that the session did something in its turn.
    pub fn note_act(&mut self, place: &SessionKey) {
        let session = self.sessions.get_mut(place);
        if let Some(acted) = session.and_then(|it| it.acted.as_mut()) {
            *acted = true;
        }
    }

    /// Whether the session did anything in its turn; `None` if the hub did not see the turn begin.
    pub fn has_acted(&self, place: &SessionKey) -> Option<bool> {
        self.sessions.get(place)?.acted
    }

    pub(super) fn tool(&self, place: &SessionKey) -> Option<&ToolCall> {
        self.sessions.get(place)?.tools.current()
    }

    /// Notes the cause of the turn that begins next.
    pub fn note_cause(&mut self, place: SessionKey, cause: TurnCause, now: Instant) {
        self.of(place).cause = Some((cause, now));
    }

    /// Returns the reported cause of a turn that begins now; each report counts for one turn.
    pub fn take_cause(&mut self, place: &SessionKey, now: Instant) -> Option<TurnCause> {
        let (cause, at) = self.sessions.get_mut(place)?.cause.take()?;
        (now.saturating_duration_since(at) < CAUSE_ECHO).then_some(cause)
    }

    /// Notes why the hub cannot wake a session in this way now, or with `None` that it can.
    pub fn note_unreachable(&mut self, place: SessionKey, way: Way, why: Option<String>) {
        self.of(place).unreachable = why.map(|why| (way, why));
    }

    pub(super) fn unreachable(&self, place: &SessionKey) -> Option<(Way, &str)> {
        let (way, why) = self.sessions.get(place)?.unreachable.as_ref()?;
        Some((*way, why))
    }

    /// Notes why no way wakes an idle session, or with `None` that one does or that none is needed.
    pub fn note_failed_ways(&mut self, place: &SessionKey, failed: Option<Vec<FailedWay>>) {
        self.of(place.clone()).failed_ways = failed;
    }

    pub(super) fn failed_ways(&self, place: &SessionKey) -> Option<&[FailedWay]> {
        self.sessions.get(place)?.failed_ways.as_deref()
    }

    /// Whether to warn a session now: once in each turn, and again after ten minutes.
    pub fn warn(&mut self, place: SessionKey, new_turn: bool, now: Instant) -> bool {
        let recent = |at| now.saturating_duration_since(at) < WARN_AGAIN;
        let session = self.of(place);
        if !new_turn && session.warned.is_some_and(recent) {
            return false;
        }
        session.warned = Some(now);
        true
    }

    pub(super) fn forget_old(&mut self, state: &State, now: Now) {
        let recent = |at| now.mono.saturating_duration_since(at) < FORGET_EVERY;
        if self.forgot.is_some_and(recent) {
            return;
        }
        self.forgot = Some(now.mono);
        let exists =
            |(project, session): &SessionKey| state.sessions.get(project, session).is_some();
        let oldest = now.wall.plus_millis(-KEPT_MS);
        let fresh = |at| now.mono.saturating_duration_since(at) < WARN_AGAIN;
        self.sessions.retain(|place, it| {
            let cause = it.cause.as_ref().map(|(_, at)| *at);
            let noted = [it.timed_out, it.warned, it.module, cause];
            let is_recent = || noted.into_iter().flatten().any(fresh);
            exists(place) || it.seen.is_some_and(|at| at >= oldest) || is_recent()
        });
    }
}
