//! A waiter: one open wait.

use std::time::{Duration, Instant};

use hub_protocol::{Holder, InboxName, ProjectName, Timestamp, Way, WhyWoken};
use tokio::sync::oneshot;

use super::{Barrier, Batch, HeldBack};
use crate::filter::Filter;
use crate::fold::{Session, State};
use crate::time::Now;

/// The longest that a waiter waits for a lull, however busy its inboxes are.
const LONGEST_SETTLE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct WaiterId(pub(super) u64);

/// The conditions of a wait.
#[derive(Debug, Clone)]
pub struct WaitSpec {
    /// The project of the inboxes.
    pub project: ProjectName,
    /// The inboxes, each once.
    pub inboxes: Vec<InboxName>,
    /// Whether the inboxes are those of its session, which may change during the wait.
    pub own: bool,
    /// The waiter's name. A new wait under the same name replaces the old one.
    pub name: Option<String>,
    /// The agent session that the waiter wakes.
    pub session: Option<InboxName>,
    /// How the session is woken.
    pub way: Option<Way>,
    /// The notifications that it accepts.
    pub filter: Filter,
    /// The condition for the wake, if the first notification is not enough.
    pub barrier: Option<Barrier>,
    /// How long the inboxes must be quiet before the wait ends; zero means not at all.
    pub settle: Duration,
    /// When the wait ends at the latest.
    pub deadline: Instant,
    /// The most bytes of JSON in the batch; one notification always fits.
    pub room: usize,
    /// Whether the wait returns at once with the available notifications.
    pub drain: bool,
    /// Whether the wait may replace another waiter's.
    pub takeover: bool,
}

impl WaitSpec {
    /// A wait of `session` that takes at once what is pending, up to `room` bytes of JSON.
    pub fn drain(
        project: ProjectName,
        session: Option<InboxName>,
        name: String,
        room: usize,
    ) -> Self {
        Self {
            project,
            inboxes: Vec::new(),
            own: false,
            name: Some(name),
            session,
            way: None,
            filter: Filter::default(),
            barrier: None,
            settle: Duration::ZERO,
            deadline: Instant::now(),
            room,
            drain: true,
            takeover: false,
        }
    }
}

/// The outcome of a wait.
#[derive(Debug)]
pub enum Outcome {
    /// Notifications were delivered.
    Batch(Batch),
    /// No notifications: the deadline passed, a drain found none, or the session's inboxes changed.
    Empty,
    /// The deadline passed while a wake limit held notifications back.
    HeldBack(HeldBack),
    /// The project was reset.
    Reset,
    /// The wait was refused, because the inbox has another waiter.
    Held {
        /// The inbox.
        inbox: InboxName,
        /// Its present waiter.
        holder: Holder,
    },
    /// Another wait replaced this one.
    TakenOver,
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) id: WaiterId,
    pub(super) spec: WaitSpec,
    /// When the waiter must be checked next: at its deadline, or at the end of a lull or of a limit.
    pub(super) due: Instant,
    pub(super) since: Timestamp,
    /// When the notification that it was woken for arrived.
    pub(super) woken: Option<Instant>,
    settling: Option<Settling>,
    reply: oneshot::Sender<Outcome>,
}

#[derive(Debug)]
struct Settling {
    why: WhyWoken,
    latest: Instant,
}

impl Waiter {
    pub(super) fn new(
        id: WaiterId,
        spec: WaitSpec,
        reply: oneshot::Sender<Outcome>,
        now: Now,
    ) -> Self {
        Self {
            id,
            due: spec.deadline,
            spec,
            since: now.wall,
            woken: None,
            settling: None,
            reply,
        }
    }

    /// Whether the client is still connected.
    pub(super) fn is_connected(&self) -> bool {
        !self.reply.is_closed()
    }

    pub(super) fn holder(&self) -> Holder {
        Holder {
            name: self.spec.name.clone(),
            session: self.spec.session.clone(),
            session_name: None,
            way: self.spec.way,
            since: self.since,
        }
    }

    /// Whether its session now reads other inboxes, or its name means another session, or the hub waits for a session that
    /// has ended, or `hub-acp` waits for the session.
    pub(super) fn has_moved(&self, state: &State) -> bool {
        let spec = &self.spec;
        let Some(session) = spec.session.as_ref().filter(|_| spec.own) else {
            return false;
        };
        let sessions = &state.sessions;
        let (project, key) = sessions.resolve_key(spec.project.clone(), session.clone());
        let known = sessions.get(&project, &key);
        let is_alive = known.is_some_and(Session::is_alive);
        let is_left = |it: &Session| it.is_left_to_client(spec.way, spec.name.as_deref());
        if self.yields() && !is_alive || known.is_some_and(is_left) {
            return true;
        }
        let mut inboxes = sessions.inboxes_of(&project, &key);
        inboxes.sort();
        project != spec.project || inboxes != spec.inboxes
    }

    /// Whether any other waiter may replace it: the hub waits only while the session has no waiter of its own.
    pub(super) fn yields(&self) -> bool {
        self.spec.way.is_some_and(Way::is_pushed)
    }

    pub(super) fn is_settling(&self) -> bool {
        self.settling.is_some()
    }

    /// Restarts the lull when the waiter's condition is met. Returns false if the wait asks for no lull.
    pub(super) fn settle(&mut self, why: &WhyWoken, now: Instant) -> bool {
        if self.spec.settle.is_zero() {
            return false;
        }
        let latest = (now + LONGEST_SETTLE).min(self.spec.deadline);
        let settling = self.settling.get_or_insert_with(|| Settling {
            why: why.clone(),
            latest,
        });
        self.due = (now + self.spec.settle).min(settling.latest);
        true
    }

    /// Returns why the waiter was to be woken, if it waits for a lull.
    pub(super) fn settled(&self) -> Option<WhyWoken> {
        self.settling.as_ref().map(|settling| settling.why.clone())
    }

    /// Schedules the next check for `until`, when a limit ends, unless an earlier one is scheduled.
    pub(super) fn hold_until(&mut self, until: Instant) {
        self.due = self.due.min(until);
    }

    /// Resets the waiter to the state before its condition was met.
    pub(super) fn wait_on(&mut self) {
        (self.settling, self.woken) = (None, None);
        self.due = self.spec.deadline;
    }

    /// Ends the wait. Returns the outcome if the client has disconnected.
    pub(super) fn answer(self, outcome: Outcome) -> Option<Outcome> {
        self.reply.send(outcome).err()
    }
}
