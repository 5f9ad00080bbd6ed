//! Short-lived facts about sessions: last activity, waiters that timed out, and warnings.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use hub_protocol::process::started;
use hub_protocol::{FailedWay, InboxName, Process, ProjectName, Timestamp, ToolCall, Way};

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
/// The age at which a session's last activity is forgotten, in milliseconds.
const KEPT_MS: i64 = 24 * 3600 * 1000;
/// The interval between two purges. A purge visits all sessions, and ticks come many times a second.
const FORGET_EVERY: Duration = Duration::from_secs(60);

/// Facts about sessions, gathered since the hub started.
#[derive(Debug, Default)]
pub struct Activity {
    seen: HashMap<SessionKey, Timestamp>,
    timeouts: HashMap<SessionKey, Instant>,
    warned: HashMap<SessionKey, Instant>,
    /// When the poll of each session's module was last answered.
    modules: HashMap<SessionKey, Instant>,
    causes: HashMap<SessionKey, (TurnCause, Instant)>,
    /// Why each session cannot be woken in this way, if the hub tried.
    unreachable: HashMap<SessionKey, (Way, String)>,
    /// Why each way to wake a session failed, for idle sessions that the hub cannot wake.
    failed_ways: HashMap<SessionKey, Vec<FailedWay>>,
    /// Sessions whose permission mode may allow everything.
    bypassing: HashSet<SessionKey>,
    /// The tool calls of each session in its turn.
    tools: HashMap<SessionKey, ToolCalls>,
    /// Whether each session has done anything in its turn.
    turns: HashMap<SessionKey, bool>,
    /// Sessions whose inboxes have had a waiter.
    waited: HashSet<SessionKey>,
    /// The processes that the kernel has confirmed as those of sessions.
    agents: Vec<Process>,
    agents_so_far: AgentsSoFar,
    forgot: Option<Instant>,
}

impl Activity {
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
        self.seen.insert(place, at);
    }

    /// Returns when a session was last active.
    pub fn seen(&self, project: &ProjectName, session: &InboxName) -> Option<Timestamp> {
        self.seen.get(&(project.clone(), session.clone())).copied()
    }

    /// Notes that a session's waiter timed out.
    pub(super) fn timed_out(&mut self, place: SessionKey, now: Instant) {
        self.timeouts.insert(place, now);
    }

    /// Notes that a session has a waiter again. An earlier timeout then only caused this new wait, so it is forgotten.
    pub(super) fn waits_on(&mut self, place: &SessionKey) {
        self.timeouts.remove(place);
    }

    /// Notes a waiter at these inboxes; inboxes that belong to no session are ignored.
    pub(super) fn note_waiter(
        &mut self,
        state: &State,
        project: &ProjectName,
        inboxes: &[InboxName],
    ) {
        let sessions = inboxes
            .iter()
            .filter(|inbox| state.session(project, inbox).is_some());
        self.waited
            .extend(sessions.map(|inbox| (project.clone(), inbox.clone())));
    }

    pub(super) fn waited(&self, project: &ProjectName, session: &InboxName) -> bool {
        self.waited.contains(&(project.clone(), session.clone()))
    }

    /// Whether a turn that begins now was caused by a waiter's timeout; each timeout causes one turn at most.
    pub fn take_timeout(&mut self, place: &SessionKey, now: Instant) -> bool {
        let at = self.timeouts.remove(place);
        at.is_some_and(|at| now.saturating_duration_since(at) < TIMEOUT_ECHO)
    }

    /// Notes that the poll of a session's module is answered.
    pub fn note_module(&mut self, place: SessionKey, now: Instant) {
        self.modules.insert(place, now);
    }

    pub(super) fn has_module(&self, place: &SessionKey, now: Instant) -> bool {
        let at = self.modules.get(place);
        at.is_some_and(|at| now.saturating_duration_since(*at) < MODULE_RETURNS)
    }

    /// Notes whether the session's permission mode may allow everything.
    pub fn note_mode(&mut self, place: SessionKey, bypasses: bool) {
        if bypasses {
            self.bypassing.insert(place);
        } else {
            self.bypassing.remove(&place);
        }
    }

    pub(super) fn bypasses(&self, place: &SessionKey) -> bool {
        self.bypassing.contains(place)
    }

    /// Notes a report about the session's tool call `id`.
    pub fn note_tool(&mut self, place: SessionKey, id: &str, report: ToolReport) {
        self.tools.entry(place).or_default().note(id, report);
    }

    /// Notes that a turn of the session began or ended, so that no tool runs.
    pub fn forget_tools(&mut self, place: &SessionKey) {
        self.tools.remove(place);
    }

    /// Notes that a turn of the session began.
    pub fn begin_turn(&mut self, place: &SessionKey) {
        self.turns.insert(place.clone(), false);
    }

    /// Notes that the session did something in its turn.
    pub fn note_act(&mut self, place: &SessionKey) {
        if let Some(acted) = self.turns.get_mut(place) {
            *acted = true;
        }
    }

    /// Whether the session did anything in its turn; `None` if the hub did not see the turn begin.
    pub fn has_acted(&self, place: &SessionKey) -> Option<bool> {
        self.turns.get(place).copied()
    }

    pub(super) fn tool(&self, place: &SessionKey) -> Option<&ToolCall> {
        self.tools.get(place)?.current()
    }

    /// Notes the cause of the turn that begins next.
    pub fn note_cause(&mut self, place: SessionKey, cause: TurnCause, now: Instant) {
        self.causes.insert(place, (cause, now));
    }

    /// Returns the reported cause of a turn that begins now; each report counts for one turn.
    pub fn take_cause(&mut self, place: &SessionKey, now: Instant) -> Option<TurnCause> {
        let (cause, at) = self.causes.remove(place)?;
        (now.saturating_duration_since(at) < CAUSE_ECHO).then_some(cause)
    }

    /// Notes why the hub cannot wake a session in this way now, or with `None` that it can.
    pub fn note_unreachable(&mut self, place: SessionKey, way: Way, why: Option<String>) {
        match why {
            Some(why) => self.unreachable.insert(place, (way, why)),
            None => self.unreachable.remove(&place),
        };
    }

    pub(super) fn unreachable(&self, place: &SessionKey) -> Option<(Way, &str)> {
        let (way, why) = self.unreachable.get(place)?;
        Some((*way, why))
    }

    /// Notes why no way wakes an idle session, or with `None` that one does or that none is needed.
    pub fn note_failed_ways(&mut self, place: &SessionKey, failed: Option<Vec<FailedWay>>) {
        match failed {
            Some(failed) => self.failed_ways.insert(place.clone(), failed),
            None => self.failed_ways.remove(place),
        };
    }

    pub(super) fn failed_ways(&self, place: &SessionKey) -> Option<&[FailedWay]> {
        self.failed_ways.get(place).map(Vec::as_slice)
    }

    /// Whether to warn a session now: once in each turn, and again after ten minutes.
    pub fn warn(&mut self, place: SessionKey, new_turn: bool, now: Instant) -> bool {
        let recent = |at: &Instant| now.saturating_duration_since(*at) < WARN_AGAIN;
        if !new_turn && self.warned.get(&place).is_some_and(recent) {
            return false;
        }
        self.warned.insert(place, now);
        true
    }

    pub(super) fn forget_old(&mut self, state: &State, now: Now) {
        let recent = |at| now.mono.saturating_duration_since(at) < FORGET_EVERY;
        if self.forgot.is_some_and(recent) {
            return;
        }
        self.forgot = Some(now.mono);
        let exists = |(project, session): &SessionKey| state.session(project, session).is_some();
        self.waited.retain(exists);
        self.bypassing.retain(exists);
        self.tools.retain(|place, _| exists(place));
        self.turns.retain(|place, _| exists(place));
        self.unreachable.retain(|place, _| exists(place));
        self.failed_ways.retain(|place, _| exists(place));
        let oldest = now.wall.plus_millis(-KEPT_MS);
        self.seen.retain(|_, at| *at >= oldest);
        let fresh = |at: &mut Instant| now.mono.saturating_duration_since(*at) < WARN_AGAIN;
        self.timeouts.retain(|_, at| fresh(at));
        self.warned.retain(|_, at| fresh(at));
        self.causes.retain(|_, (_, at)| fresh(at));
        self.modules.retain(|_, at| fresh(at));
    }
}
