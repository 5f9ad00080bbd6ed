//! One open wait.

use std::time::{Duration, Instant};

use hub_protocol::{Holder, InboxName, ProjectName, Timestamp, Way, WhyWoken};
use tokio::sync::oneshot;

use super::{Barrier, Batch};
use crate::clock::Now;
use crate::filter::Filter;
use crate::state::State;

/// However busy an inbox is, a lull is not waited for longer than this.
const LONGEST_SETTLE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct WaiterId(pub(super) u64);

/// What a waiter asks for.
#[derive(Debug, Clone)]
pub struct WaitSpec {
    /// The project of the inboxes.
    pub project: ProjectName,
    /// The inboxes, each once.
    pub inboxes: Vec<InboxName>,
    /// Whether its inboxes are those of its session, whichever these are by and by.
    pub own: bool,
    /// Who waits: the same name replaces its own dead connection.
    pub name: Option<String>,
    /// The agent session that it wakes.
    pub session: Option<InboxName>,
    /// How it wakes that session.
    pub way: Option<Way>,
    /// What it wants.
    pub filter: Filter,
    /// When it wants it, if not at the first.
    pub barrier: Option<Barrier>,
    /// How long the inboxes must be quiet before it ends.
    pub settle: Duration,
    /// When it ends in any case.
    pub deadline: Instant,
    /// Bytes of JSON that it has room for; one notification always fits.
    pub room: usize,
    /// Whether it takes what is there and does not wait at all.
    pub drain: bool,
    /// Whether it may end another's wait.
    pub takeover: bool,
}

/// How a wait ended.
#[derive(Debug)]
pub enum Outcome {
    /// With these.
    Batch(Batch),
    /// With nothing: the time is over.
    Empty,
    /// Not begun: somebody waits there.
    Held {
        /// Where.
        inbox: InboxName,
        /// Who.
        holder: Holder,
    },
    /// Another took the inbox.
    TakenOver,
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) id: WaiterId,
    pub(super) spec: WaitSpec,
    /// When something happens to it next: its deadline, or the end of a lull or a limit.
    pub(super) due: Instant,
    since: Timestamp,
    /// When what it was woken for came.
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

    /// Whether somebody still listens for the answer.
    pub(super) fn is_connected(&self) -> bool {
        !self.reply.is_closed()
    }

    pub(super) fn holder(&self) -> Holder {
        Holder {
            name: self.spec.name.clone(),
            session: self.spec.session.clone(),
            way: self.spec.way,
            since: self.since,
        }
    }

    /// Whether its session reads other inboxes by now, or is another.
    pub(super) fn has_moved(&self, state: &State) -> bool {
        let spec = &self.spec;
        let Some(session) = spec.session.as_ref().filter(|_| spec.own) else {
            return false;
        };
        let (project, key) = state.place(spec.project.clone(), session.clone());
        let mut inboxes = state.inboxes_of(&project, &key);
        inboxes.sort();
        project != spec.project || inboxes != spec.inboxes
    }

    pub(super) fn is_settling(&self) -> bool {
        self.settling.is_some()
    }

    /// Its condition is met. True if it waits for a lull first, which begins anew.
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

    /// Why it was to be woken, if the lull it waited for has come.
    pub(super) fn settled(&self) -> Option<WhyWoken> {
        self.settling.as_ref().map(|settling| settling.why.clone())
    }

    /// Looks again at `until`, when a limit is over, or before if another is.
    pub(super) fn hold_until(&mut self, until: Instant) {
        self.due = self.due.min(until);
    }

    /// Waits as if nothing had come.
    pub(super) fn wait_on(&mut self) {
        (self.settling, self.woken) = (None, None);
        self.due = self.spec.deadline;
    }

    /// Ends the wait. Gives the outcome back if nobody listens any more.
    pub(super) fn answer(self, outcome: Outcome) -> Option<Outcome> {
        self.reply.send(outcome).err()
    }
}
