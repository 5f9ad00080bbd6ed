//! Waiters, leases, barriers, wake limits and held requests: the one part of the hub's state that is not in the log.
//!
//! A waiter occupies its inboxes; each inbox has at most one waiter. Its condition is checked when it connects, when a
//! notification arrives in its inboxes, when a lease runs out, when a session's state changes (barriers), and when a
//! wake limit ends. `settle` waits for a lull. Barriers decide when a wait ends, never which notifications it returns.
//! All deadlines are in one queue; the writer tells the clock when the first of them is, and the clock submits `Tick`.
//!
//! Only the writer thread adds and ends waiters, leases, wakes and held requests; readers share them. What the hub sees of
//! sessions besides ([`Activity`], [`Edits`]) is noted at once by the task that sees it: no record depends on the order. A
//! restart discards all this by design: waiters and hooks reconnect, and notifications that were leased but not
//! acknowledged are offered again, marked as redelivered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use hub_protocol::{
    FailedWay, Holder, InboxName, Process, ProjectName, Seq, Timestamp, ToolCall, Way, WhyWoken,
};
use tokio::sync::{oneshot, watch};

use crate::agents_so_far::AgentsSoFar;
use crate::fold::{HookConnection, SessionKey, State};
use crate::sync;
use crate::time::Now;

mod activity;
mod barrier;
mod batch;
mod edits;
mod event_order;
mod held_requests;
mod inbox_slot;
mod latency;
mod lease;
pub mod lease_token;
mod limits;
#[cfg(test)]
mod tests;
mod tool_calls;
mod verdict;
mod waiter;
mod wake;

pub use barrier::Barrier;
pub use batch::{Batch, MAX_BYTES, MAX_TEXT_BYTES, Offered};
pub use edits::{Edit, EditedFile, Edits, Life};
pub use event_order::{EventOrder, EventTurn};
pub use latency::WakeTime;
pub use limits::{HeldBack, Hold, Limit, WakeLimits};
pub use tool_calls::ToolReport;
pub use verdict::{Reach, WakeVerdict};
pub use waiter::{Outcome, WaitSpec};

pub use activity::Activity;
use held_requests::HeldRequests;
pub use held_requests::{Held, HeldTime};
use inbox_slot::InboxSlot;
use latency::Latencies;
use lease::{Lease, LeaseId};
use limits::WakeLog;
use waiter::{Waiter, WaiterId};

/// How often broken connections are searched for.
const SWEEP: Duration = Duration::from_secs(30);

/// An event that a deadline triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Waiter(WaiterId),
    Lease(LeaseId),
}

/// Waiters, leases, wake limits and held requests.
pub struct Waiters {
    // Sorted, so that what ends several of them does so in one order.
    slots: BTreeMap<ProjectName, BTreeMap<InboxName, InboxSlot>>,
    parked: BTreeMap<WaiterId, Waiter>,
    /// Waiters with a barrier. A change of a session's state may satisfy one without touching its inboxes.
    barriers: BTreeSet<WaiterId>,
    leases: BTreeMap<LeaseId, Lease>,
    due: BTreeSet<(Instant, Timer)>,
    wakes: HashMap<(ProjectName, InboxName), WakeLog>,
    limits: WakeLimits,
    /// The last notification that may have been delivered before this run without an acknowledgement.
    offered: Seq,
    activity: Activity,
    edits: Edits,
    held_requests: HeldRequests,
    latencies: Latencies,
    next_id: u64,
    swept: Instant,
    /// Incremented at each change, for watchers of presence.
    version: watch::Sender<u64>,
}

/// The waiters as the writer and the readers share them. A guard must not be held across another lock of it.
#[derive(Clone)]
pub struct SharedWaiters(Arc<RwLock<Waiters>>);

impl SharedWaiters {
    /// Locks them to be read.
    pub fn read(&self) -> RwLockReadGuard<'_, Waiters> {
        sync::read(&self.0)
    }

    /// Locks them to be changed: outside of the writer only [`Waiters::activity`] and [`Waiters::edits`].
    pub fn write(&self) -> RwLockWriteGuard<'_, Waiters> {
        sync::write(&self.0)
    }
}

impl From<Waiters> for SharedWaiters {
    fn from(waiters: Waiters) -> Self {
        Self(Arc::new(RwLock::new(waiters)))
    }
}

impl Waiters {
    /// No waiters. Notifications up to `offered` may have been delivered before, so they are marked as redelivered. Questions up
    /// to `head` may have had a hook. `now` is the time on the monotonic clock.
    pub fn new(limits: WakeLimits, offered: Seq, head: Seq, now: Instant) -> Self {
        Self {
            slots: BTreeMap::new(),
            parked: BTreeMap::new(),
            barriers: BTreeSet::new(),
            leases: BTreeMap::new(),
            due: BTreeSet::new(),
            wakes: HashMap::new(),
            limits,
            offered,
            activity: Activity::default(),
            edits: Edits::default(),
            held_requests: HeldRequests::new(head, now),
            latencies: Latencies::default(),
            next_id: 0,
            swept: now,
            version: watch::Sender::new(0),
        }
    }

    /// Forgets all waiters, leases and wake limits, as a restart after the record `head` does; unanswered waits fail.
    /// Notifications up to there may have been delivered before.
    pub fn restart(&mut self, head: Seq, now: Instant) {
        *self = Self {
            version: self.version.clone(),
            activity: std::mem::take(&mut self.activity).restarted(),
            ..Self::new(self.limits, head, head, now)
        };
        self.changed();
    }

    /// Moves every time of the wall clock by `delta_ms`.
    pub fn shift(&mut self, delta_ms: i64) {
        let times = self.parked.values_mut().map(|it| &mut it.since);
        let times = times.chain(self.held_requests.times());
        let times = times.chain(self.latencies.times());
        for at in times.chain(self.activity.times()) {
            *at = at.plus_millis(delta_ms);
        }
    }

    /// Returns the last notification that may have been delivered, before this run or in it, and was not acknowledged.
    pub fn offered(&self) -> Seq {
        let slots = self.slots.values().flat_map(BTreeMap::values);
        let handed_out = slots.flat_map(|slot| slot.leased.keys().chain(&slot.returned));
        handed_out.copied().fold(self.offered, Seq::max)
    }

    /// Returns the counter that changes when a waiter or a held request is added or removed. Broken connections
    /// increment it themselves.
    pub fn version(&self) -> watch::Sender<u64> {
        self.version.clone()
    }

    /// Returns the next deadline of a waiter or a lease.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Returns the waiter of an inbox, if its connection still lives.
    pub fn holder(&self, project: &ProjectName, inbox: &InboxName) -> Option<Holder> {
        let waiter = self.parked.get(&self.slot(project, inbox)?.waiter?)?;
        waiter.is_connected().then(|| waiter.holder())
    }

    /// Returns another project with a waiter at an inbox of this name, even if nothing was ever stored in that inbox.
    pub fn waits_elsewhere(
        &self,
        project: &ProjectName,
        inbox: &InboxName,
    ) -> Option<&ProjectName> {
        let waits = |other: &&ProjectName| *other != project && self.holder(other, inbox).is_some();
        self.slots.keys().find(waits)
    }

    /// Returns every inbox that has a waiter, with that waiter.
    pub fn holders(&self) -> impl Iterator<Item = (&ProjectName, &InboxName, Holder)> {
        let live = self.parked.values().filter(|waiter| waiter.is_connected());
        live.flat_map(|waiter| {
            waiter
                .spec
                .inboxes
                .iter()
                .map(|inbox| (&waiter.spec.project, inbox, waiter.holder()))
        })
    }

    /// Ends the latency measurement of notifications that a reader acknowledged or showed.
    pub fn read(&mut self, inbox: &InboxName, ids: &[Seq], now: Now) {
        self.latencies.end(inbox, ids, now);
    }

    /// Returns the latencies of the wakes since `from`, oldest first, and whether older ones may have been dropped.
    pub fn wakes_since(&self, from: Timestamp) -> (Vec<WakeTime>, bool) {
        self.latencies.since(from)
    }

    /// Holds a request for the answer to this question in this time, or until the guard is dropped.
    pub fn hold(&mut self, id: Seq, time: HeldTime) -> Held {
        let held = self.held_requests.add(id, time, self.version.clone());
        self.changed();
        held
    }

    /// Whether a request is held for the answer to this question.
    pub fn is_held(&self, id: Seq) -> bool {
        self.held_requests.contains(id)
    }

    /// Returns the time in which a request is held for the answer to this question.
    pub fn held_time(&self, id: Seq) -> Option<HeldTime> {
        self.held_requests.time(id)
    }

    /// Returns whether the hook is connected that delivers the answer to this question.
    pub fn hook_connection(&self, id: Seq, now: Instant) -> HookConnection {
        self.held_requests.connection(id, now)
    }

    /// Returns until when hooks are expected that an earlier hub held.
    pub fn hooks_expected_until(&self) -> Instant {
        self.held_requests.expected_until()
    }

    /// Returns the questions for whose answers requests are held.
    pub fn held(&self) -> BTreeSet<Seq> {
        self.held_requests.ids()
    }

    /// Returns the number of connected waiters.
    pub fn waiters(&self) -> usize {
        self.parked
            .values()
            .filter(|waiter| waiter.is_connected())
            .count()
    }

    /// Returns the short-lived facts about sessions, to read and to change.
    pub fn activity(&mut self) -> &mut Activity {
        &mut self.activity
    }

    /// Returns the files that sessions have edited lately, to read and to change.
    pub fn edits(&mut self) -> &mut Edits {
        &mut self.edits
    }

    /// Returns when a session was last active.
    pub fn seen(&self, project: &ProjectName, session: &InboxName) -> Option<Timestamp> {
        self.activity.seen(project, session)
    }

    /// Returns when the hub last received anything from a session: now while a tool runs, because an agent reports
    /// nothing meanwhile, however long that takes.
    pub fn heard(&self, place: &SessionKey, now: Timestamp) -> Timestamp {
        let seen = || self.seen(&place.0, &place.1).unwrap_or_default();
        self.tool(place).map_or_else(seen, |_| now)
    }

    /// Whether the session's inbox has had a waiter since the hub started.
    pub fn waited(&self, project: &ProjectName, session: &InboxName) -> bool {
        self.activity.waited(project, session)
    }

    /// Whether the session's module is about to poll again, so that no other waiter is needed.
    pub fn has_module(&self, place: &SessionKey, now: Instant) -> bool {
        self.activity.has_module(place, now)
    }

    /// Returns why the hub cannot wake this session now, if it knows a reason, and the way that it tried.
    pub fn unreachable(&self, place: &SessionKey) -> Option<(Way, &str)> {
        self.activity.unreachable(place)
    }

    /// Returns the ways to wake a session that the hub tried last; `None` if it has not tried since it last could.
    pub fn failed_ways(&self, place: &SessionKey) -> Option<&[FailedWay]> {
        self.activity.failed_ways(place)
    }

    /// Returns what is known of all agents, also of those that have ended.
    pub fn agents_so_far(&self) -> &AgentsSoFar {
        self.activity.agents_so_far()
    }

    /// Returns the processes that the kernel has confirmed as those of agents.
    pub fn agents(&self) -> &[Process] {
        self.activity.agents()
    }

    /// Whether the session's permission mode is known, and may allow everything.
    pub fn bypasses(&self, place: &SessionKey) -> bool {
        self.activity.bypasses(place)
    }

    /// Returns the question of the hub that a form in the session's terminal shows.
    pub fn form(&self, place: &SessionKey) -> Option<Seq> {
        self.activity.form(place)
    }

    /// Returns the tool call that runs in the session now.
    pub fn tool(&self, place: &SessionKey) -> Option<&ToolCall> {
        self.activity.tool(place)
    }

    /// Whether a reader has leased this item.
    pub fn is_leased(&self, project: &ProjectName, inbox: &InboxName, id: Seq) -> bool {
        self.slot(project, inbox)
            .is_some_and(|slot| slot.leased.contains_key(&id))
    }

    /// Returns how many items of an inbox are leased.
    pub fn leased_count(&self, project: &ProjectName, inbox: &InboxName) -> usize {
        self.slot(project, inbox)
            .map_or(0, |slot| slot.leased.len())
    }

    /// Adds a waiter. It is answered at once if its condition is met or another waiter holds an inbox; otherwise it is
    /// parked.
    pub fn arm(
        &mut self,
        state: &State,
        spec: WaitSpec,
        reply: oneshot::Sender<Outcome>,
        now: Now,
    ) {
        if let Some(outcome) = self.make_room(state, &spec, now) {
            let _ = reply.send(outcome);
            return;
        }
        self.next_id += 1;
        let id = WaiterId(self.next_id);
        for inbox in &spec.inboxes {
            self.slot_mut(&spec.project, inbox).waiter = Some(id);
        }
        if spec.barrier.is_some() {
            self.barriers.insert(id);
        }
        if let Some(session) = &spec.session {
            self.activity
                .waits_on(&(spec.project.clone(), session.clone()));
        }
        if !spec.drain {
            self.activity
                .note_waiter(state, &spec.project, &spec.inboxes);
        }
        let waiter = Waiter::new(id, spec, reply, now);
        self.due.insert((waiter.due, Timer::Waiter(id)));
        self.parked.insert(id, waiter);
        self.changed();
        if self.parked[&id].spec.drain {
            self.finish(state, id, WhyWoken::Pending, now);
        } else {
            self.consider(state, id, now);
        }
    }

    /// Ends the waiters that `spec` replaces. Returns [`Outcome::Held`] if one of them may not be replaced.
    fn make_room(&mut self, state: &State, spec: &WaitSpec, now: Now) -> Option<Outcome> {
        let mut others = BTreeSet::new();
        for inbox in &spec.inboxes {
            let Some(id) = self.slot(&spec.project, inbox).and_then(|slot| slot.waiter) else {
                continue;
            };
            let holder = &self.parked[&id];
            let own = spec.name.is_some() && spec.name == holder.spec.name;
            if holder.is_connected() && !own && !spec.takeover && !holder.yields() {
                return Some(Outcome::Held {
                    inbox: inbox.clone(),
                    holder: holder.holder(),
                });
            }
            others.insert(id);
        }
        for id in others {
            self.dismiss(id, Outcome::TakenOver);
        }
        if let Some(name) = &spec.name {
            self.release_leases_of(state, name, now);
        }
        None
    }

    /// Ends waits whose session now reads other inboxes, because its name or role changed; the clients then wait again.
    pub fn sessions_moved(&mut self, state: &State) {
        let moved = |waiter: &&Waiter| waiter.has_moved(state);
        let ids: Vec<WaiterId> = self.parked.values().filter(moved).map(|it| it.id).collect();
        for id in ids {
            self.dismiss(id, Outcome::Empty);
        }
    }

    /// Processes every deadline that has passed: of waits, of lulls and of leases.
    pub fn tick(&mut self, state: &State, now: Now) {
        self.activity.forget_old(state, now);
        self.wakes.retain(|_, log| !log.is_over(now.mono));
        self.sweep(now.mono);
        while let Some(&(at, due)) = self.due.first() {
            if at > now.mono {
                return;
            }
            self.due.pop_first();
            match due {
                Timer::Waiter(id) => self.waiter_due(state, id, now),
                Timer::Lease(id) => self.release(state, id, now),
            }
        }
    }

    /// Removes waiters with a broken connection, which would otherwise occupy memory until their deadline.
    fn sweep(&mut self, now: Instant) {
        if now.saturating_duration_since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        let gone = self.parked.values().filter(|it| !it.is_connected());
        let gone: Vec<WaiterId> = gone.map(|it| it.id).collect();
        for id in gone {
            self.dismiss(id, Outcome::TakenOver);
        }
    }

    /// Ends every waiter of a project, because the project was reset.
    pub fn dismiss_project(&mut self, state: &State, project: &ProjectName) {
        let of_project = |waiter: &&Waiter| waiter.spec.project == *project;
        let ids: Vec<WaiterId> = self
            .parked
            .values()
            .filter(of_project)
            .map(|waiter| waiter.id)
            .collect();
        for id in ids {
            self.dismiss(id, Outcome::Reset);
        }
        let slots = self.slots.get(project).into_iter();
        let inboxes: Vec<InboxName> = slots.flat_map(|it| it.keys().cloned()).collect();
        for inbox in inboxes {
            self.closed(state, project, &inbox);
        }
        self.wakes.retain(|(of, _), _| of != project);
    }

    /// Removes a waiter and answers it with `outcome`.
    fn dismiss(&mut self, id: WaiterId, outcome: Outcome) {
        if let Some(waiter) = self.take(id) {
            waiter.answer(outcome);
        }
    }

    fn take(&mut self, id: WaiterId) -> Option<Waiter> {
        let waiter = self.parked.remove(&id)?;
        self.due.remove(&(waiter.due, Timer::Waiter(id)));
        self.barriers.remove(&id);
        for inbox in &waiter.spec.inboxes {
            let slot = self.slot_mut(&waiter.spec.project, inbox);
            if slot.waiter == Some(id) {
                slot.waiter = None;
            }
            self.forget_idle(&waiter.spec.project, inbox);
        }
        self.changed();
        Some(waiter)
    }

    fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }
}
