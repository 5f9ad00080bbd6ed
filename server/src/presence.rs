//! Presence: who waits, who holds what for the moment. The one part of the hub that is not in the log.
//!
//! It lives in the writer thread and is lost at a restart by design: waiters come back, and what was leased and never
//! acknowledged is offered again.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use hub_protocol::{Holder, InboxName, ProjectName, Seq, Timestamp, WhyWoken};
use tokio::sync::{oneshot, watch};

use crate::clock::Now;
use crate::state::State;

mod barrier;
mod batch;
mod company;
mod door;
mod holds;
mod latency;
mod limits;
#[cfg(test)]
mod tests;
mod waiter;
mod wake;

pub use barrier::Barrier;
pub use batch::{Batch, MAX_BYTES, Offered};
pub use latency::WakeTime;
pub use limits::WakeLimits;
pub use waiter::{Outcome, WaitSpec};

use batch::{Lease, LeaseId};
use company::Company;
use door::Door;
use holds::Holds;
use latency::Latencies;
use limits::WakeLog;
use waiter::{Waiter, WaiterId};

/// How often those who broke off are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// A moment at which presence changes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Waiter(WaiterId),
    Lease(LeaseId),
}

/// Waiters, leases and wake limits.
pub struct Presence {
    doors: HashMap<ProjectName, HashMap<InboxName, Door>>,
    waiters: HashMap<WaiterId, Waiter>,
    /// Waiters with a barrier, which a session's state may meet without touching their inbox.
    barriers: BTreeSet<WaiterId>,
    leases: HashMap<LeaseId, Lease>,
    due: BTreeSet<(Instant, Due)>,
    wakes: HashMap<(ProjectName, InboxName), WakeLog>,
    limits: WakeLimits,
    company: Company,
    holds: Holds,
    latencies: Latencies,
    next_id: u64,
    swept: Instant,
    /// Counts changes, for those who watch who is there.
    version: watch::Sender<u64>,
}

impl Presence {
    /// Nobody is there.
    pub fn new(limits: WakeLimits) -> Self {
        Self {
            doors: HashMap::new(),
            waiters: HashMap::new(),
            barriers: BTreeSet::new(),
            leases: HashMap::new(),
            due: BTreeSet::new(),
            wakes: HashMap::new(),
            limits,
            company: Company::default(),
            holds: Holds::default(),
            latencies: Latencies::default(),
            next_id: 0,
            swept: Instant::now(),
            version: watch::Sender::new(0),
        }
    }

    /// Changes whenever a waiter or a held request comes or goes. Who breaks off says so here by itself.
    pub fn version(&self) -> watch::Sender<u64> {
        self.version.clone()
    }

    /// When something is due next.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Who waits at an inbox, if the connection still lives.
    pub fn holder(&self, project: &ProjectName, inbox: &InboxName) -> Option<Holder> {
        let waiter = self.waiters.get(&self.door(project, inbox)?.waiter?)?;
        waiter.is_connected().then(|| waiter.holder())
    }

    /// Another project in which somebody waits at an inbox of this name, whether or not anything was ever put there.
    pub fn waits_elsewhere(
        &self,
        project: &ProjectName,
        inbox: &InboxName,
    ) -> Option<&ProjectName> {
        let waits = |other: &&ProjectName| *other != project && self.holder(other, inbox).is_some();
        self.doors.keys().find(waits)
    }

    /// Every inbox at which somebody waits.
    pub fn holders(&self) -> impl Iterator<Item = (&ProjectName, &InboxName, Holder)> {
        let live = self.waiters.values().filter(|waiter| waiter.is_connected());
        live.flat_map(|waiter| {
            waiter
                .spec
                .inboxes
                .iter()
                .map(|inbox| (&waiter.spec.project, inbox, waiter.holder()))
        })
    }

    /// Readers of an inbox have these: wakes come to their end.
    pub fn read(&mut self, inbox: &InboxName, ids: &[Seq], now: Now) {
        self.latencies.end(inbox, ids, now);
    }

    /// How long the wakes since `from` took, oldest first, and whether there may have been more.
    pub fn wakes_since(&self, from: Timestamp) -> (Vec<WakeTime>, bool) {
        self.latencies.since(from)
    }

    /// A request is held until this question is settled, for as long as it keeps the other end.
    pub fn hold(&mut self, id: Seq, request: oneshot::Sender<()>) {
        self.holds.add(id, request);
        self.changed();
    }

    /// Whether a request is held for the answer to this question.
    pub fn is_held(&self, id: Seq) -> bool {
        self.holds.contains(id)
    }

    /// The questions that requests are held for.
    pub fn held(&self) -> BTreeSet<Seq> {
        self.holds.ids()
    }

    /// How many waiters there are.
    pub fn waiters(&self) -> usize {
        self.waiters
            .values()
            .filter(|waiter| waiter.is_connected())
            .count()
    }

    /// When each session was last heard of, and what its waiters did.
    pub fn company(&mut self) -> &mut Company {
        &mut self.company
    }

    /// [`Presence::company`], to look at.
    pub fn seen(&self, project: &ProjectName, session: &InboxName) -> Option<Timestamp> {
        self.company.seen(project, session)
    }

    /// Whether somebody waited at a session's inbox since the hub started.
    pub fn waited(&self, project: &ProjectName, session: &InboxName) -> bool {
        self.company.waited(project, session)
    }

    /// Whether a reader holds this item for the moment.
    pub fn is_leased(&self, project: &ProjectName, inbox: &InboxName, id: Seq) -> bool {
        self.door(project, inbox)
            .is_some_and(|door| door.leased.contains_key(&id))
    }

    /// How many items of an inbox readers hold for the moment.
    pub fn leased_count(&self, project: &ProjectName, inbox: &InboxName) -> usize {
        self.door(project, inbox)
            .map_or(0, |door| door.leased.len())
    }

    /// Lets a waiter in: it is answered at once if something is there for it, and parked otherwise.
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
            self.door_mut(&spec.project, inbox).waiter = Some(id);
        }
        if spec.barrier.is_some() {
            self.barriers.insert(id);
        }
        if let Some(session) = &spec.session {
            self.company
                .waits_on(&(spec.project.clone(), session.clone()));
        }
        if !spec.drain {
            self.company
                .note_waiter(state, &spec.project, &spec.inboxes);
        }
        let waiter = Waiter::new(id, spec, reply, now);
        self.due.insert((waiter.due, Due::Waiter(id)));
        self.waiters.insert(id, waiter);
        self.changed();
        if self.waiters[&id].spec.drain {
            self.finish(state, id, WhyWoken::Pending, now);
        } else {
            self.consider(state, id, now);
        }
    }

    /// Ends whoever must make room for `spec`; answers with the holder if that may not be.
    fn make_room(&mut self, state: &State, spec: &WaitSpec, now: Now) -> Option<Outcome> {
        let mut others = BTreeSet::new();
        for inbox in &spec.inboxes {
            let Some(id) = self.door(&spec.project, inbox).and_then(|door| door.waiter) else {
                continue;
            };
            let holder = &self.waiters[&id];
            let own = spec.name.is_some() && spec.name == holder.spec.name;
            if holder.is_connected() && !own && !spec.takeover {
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

    /// Sessions became others by name or by role: who waits for one where it does not read any more asks again.
    pub fn sessions_moved(&mut self, state: &State) {
        let moved = |waiter: &&Waiter| waiter.has_moved(state);
        let ids: Vec<WaiterId> = self
            .waiters
            .values()
            .filter(moved)
            .map(|it| it.id)
            .collect();
        for id in ids {
            self.dismiss(id, Outcome::Empty);
        }
    }

    /// Everything that is due: waits end, lulls are over, leases run out.
    pub fn tick(&mut self, state: &State, now: Now) {
        self.company.forget_old(state, now);
        self.wakes.retain(|_, log| !log.is_over(now.mono));
        self.sweep(now.mono);
        while let Some(&(at, due)) = self.due.first() {
            if at > now.mono {
                return;
            }
            self.due.pop_first();
            match due {
                Due::Waiter(id) => self.waiter_due(state, id, now),
                Due::Lease(id) => self.release(state, id, now),
            }
        }
    }

    /// Forgets those who broke off, which would keep their room until their deadline.
    fn sweep(&mut self, now: Instant) {
        if now.saturating_duration_since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        let gone = self.waiters.values().filter(|it| !it.is_connected());
        let gone: Vec<WaiterId> = gone.map(|it| it.id).collect();
        for id in gone {
            self.dismiss(id, Outcome::TakenOver);
        }
    }

    /// Ends every waiter of a project, because the project was reset.
    pub fn dismiss_project(&mut self, project: &ProjectName) {
        let of_project = |waiter: &&Waiter| waiter.spec.project == *project;
        let ids: Vec<WaiterId> = self
            .waiters
            .values()
            .filter(of_project)
            .map(|waiter| waiter.id)
            .collect();
        for id in ids {
            self.dismiss(id, Outcome::Empty);
        }
        self.doors.remove(project);
    }

    /// Takes a waiter away and tells it why.
    fn dismiss(&mut self, id: WaiterId, outcome: Outcome) {
        if let Some(waiter) = self.take(id) {
            waiter.answer(outcome);
        }
    }

    fn take(&mut self, id: WaiterId) -> Option<Waiter> {
        let waiter = self.waiters.remove(&id)?;
        self.due.remove(&(waiter.due, Due::Waiter(id)));
        self.barriers.remove(&id);
        for inbox in &waiter.spec.inboxes {
            let door = self.door_mut(&waiter.spec.project, inbox);
            if door.waiter == Some(id) {
                door.waiter = None;
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
