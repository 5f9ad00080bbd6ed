//! What is known of sessions for the moment: when each was last heard of, whose waiter ran out of time, who was warned.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use hub_protocol::{InboxName, ProjectName, Timestamp};

use crate::clock::Now;
use crate::state::State;

/// A turn that begins so soon after a waiter's timeout was begun by it.
const TIMEOUT_ECHO: Duration = Duration::from_secs(15);
/// Somebody who does not listen to a warning is warned again after this.
const WARN_AGAIN: Duration = Duration::from_secs(600);
/// What is older says nothing any more, in milliseconds.
const KEPT_MS: i64 = 24 * 3600 * 1000;
/// How often that is looked for: it costs a look at everybody, and something is due many times a second.
const FORGET_EVERY: Duration = Duration::from_secs(60);

type Place = (ProjectName, InboxName);

/// Sessions, as far as they were heard of since the hub started.
#[derive(Debug, Default)]
pub struct Company {
    seen: HashMap<Place, Timestamp>,
    timeouts: HashMap<Place, Instant>,
    warned: HashMap<Place, Instant>,
    /// Sessions that somebody waited for.
    waited: HashSet<Place>,
    forgot: Option<Instant>,
}

impl Company {
    /// A session said or did something.
    pub fn note(&mut self, place: Place, at: Timestamp) {
        self.seen.insert(place, at);
    }

    /// When a session was last heard of.
    pub fn seen(&self, project: &ProjectName, session: &InboxName) -> Option<Timestamp> {
        self.seen.get(&(project.clone(), session.clone())).copied()
    }

    /// A session's waiter ended without anything.
    pub(super) fn timed_out(&mut self, place: Place, now: Instant) {
        self.timeouts.insert(place, now);
    }

    /// A session's waiter is there: one that ran out of time before it only asked again.
    pub(super) fn waits_on(&mut self, place: &Place) {
        self.timeouts.remove(place);
    }

    /// Somebody waits at these inboxes; only what is a session's is remembered.
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

    /// Whether a turn that begins now is what a waiter's timeout began; each timeout begins one.
    pub fn take_timeout(&mut self, place: &Place, now: Instant) -> bool {
        let at = self.timeouts.remove(place);
        at.is_some_and(|at| now.saturating_duration_since(at) < TIMEOUT_ECHO)
    }

    /// Whether a session is to be warned now: in each turn once, and again after a while.
    pub fn warn(&mut self, place: Place, new_turn: bool, now: Instant) -> bool {
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
        self.waited
            .retain(|(project, session)| state.session(project, session).is_some());
        let oldest = now.wall.plus_millis(-KEPT_MS);
        self.seen.retain(|_, at| *at >= oldest);
        let fresh = |at: &mut Instant| now.mono.saturating_duration_since(*at) < WARN_AGAIN;
        self.timeouts.retain(|_, at| fresh(at));
        self.warned.retain(|_, at| fresh(at));
    }
}
