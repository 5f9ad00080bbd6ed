//! Presence: who waits, who holds what for the moment. The one part of the hub that is not in the log.
//!
//! It lives in the writer thread and is lost at a restart by design: waiters come back, and what was leased and never
//! acknowledged is offered again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

use hub_protocol::{Holder, InboxName, ProjectName, Seq, Timestamp, WhyWoken};
use tokio::sync::{oneshot, watch};

use crate::clock::Now;
use crate::state::State;

mod barrier;
mod batch;
mod company;
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
use holds::Holds;
use latency::Latencies;
use limits::WakeLog;
use waiter::{Waiter, WaiterId};

/// What happens at one inbox's door.
#[derive(Debug, Default)]
struct Door {
    waiter: Option<WaiterId>,
    leased: HashMap<Seq, LeaseId>,
    /// Offered once, never acknowledged: the next offer says so.
    returned: HashSet<Seq>,
}

impl Door {
    fn is_idle(&self) -> bool {
        self.waiter.is_none() && self.leased.is_empty() && self.returned.is_empty()
    }
}

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

    /// Items stopped being pending: nobody holds them any more.
    pub fn settled(&mut self, project: &ProjectName, inbox: &InboxName, ids: &[Seq]) {
        let Some(door) = self
            .doors
            .get_mut(project)
            .and_then(|inboxes| inboxes.get_mut(inbox))
        else {
            return;
        };
        for id in ids {
            door.leased.remove(id);
            door.returned.remove(id);
        }
    }

    /// Items stopped being pending wherever they were.
    pub fn settled_everywhere(&mut self, ids: &[Seq]) {
        for door in self.doors.values_mut().flat_map(HashMap::values_mut) {
            for id in ids {
                door.leased.remove(id);
                door.returned.remove(id);
            }
        }
    }

    /// Everything that is due: waits end, lulls are over, leases run out.
    pub fn tick(&mut self, state: &State, now: Now) {
        self.company.forget_old(state, now);
        self.wakes.retain(|_, log| !log.is_over(now.mono));
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

    /// Whoever may name inboxes must not make the hub remember each of them.
    fn forget_idle(&mut self, project: &ProjectName, inbox: &InboxName) {
        let Some(inboxes) = self.doors.get_mut(project) else {
            return;
        };
        if inboxes.get(inbox).is_some_and(Door::is_idle) {
            inboxes.remove(inbox);
        }
        if inboxes.is_empty() {
            self.doors.remove(project);
        }
    }

    fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    fn door(&self, project: &ProjectName, inbox: &InboxName) -> Option<&Door> {
        self.doors.get(project)?.get(inbox)
    }

    fn door_mut(&mut self, project: &ProjectName, inbox: &InboxName) -> &mut Door {
        if !self
            .doors
            .get(project)
            .is_some_and(|inboxes| inboxes.contains_key(inbox))
        {
            self.doors
                .entry(project.clone())
                .or_default()
                .entry(inbox.clone())
                .or_default();
        }
        self.doors
            .get_mut(project)
            .and_then(|inboxes| inboxes.get_mut(inbox))
            .expect("the door was just made")
    }
}
