//! Batches: the notifications that a waiter receives, and the lease on them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hub_protocol::{BarrierReport, InboxName, ProjectName, Seq, Way, WhyWoken};

use super::waiter::{Outcome, WaitSpec, WaiterId};
use super::{Due, Presence};
use crate::core::time::Now;
use crate::fold::{Inbox, Item, State};

/// The time that a reader has to acknowledge before its notifications are offered to others.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// The lease of a hook's answer, which is shorter because the hook shows it at once.
const ASIDE_LEASE: Duration = Duration::from_secs(5);
/// The most notifications in one answer.
const MAX_ITEMS: usize = 500;
/// The most bytes of JSON in one answer; a single notification may exceed it.
pub const MAX_BYTES: usize = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LeaseId(u64);

#[derive(Debug)]
pub(super) struct Lease {
    project: ProjectName,
    items: Vec<(InboxName, Vec<Seq>)>,
    by: Option<String>,
    until: std::time::Instant,
}

/// The notifications that a waiter receives.
#[derive(Debug)]
pub struct Batch {
    /// The notifications, in delivery order.
    pub items: Vec<Offered>,
    /// The project of the inboxes.
    pub project: ProjectName,
    /// The name of the reader.
    pub by: Option<String>,
    /// The agent session that is shown them, and how.
    pub shown: Option<(InboxName, Way)>,
    /// The contents of the lease: each inbox with its notifications, ascending.
    pub lease: Vec<(InboxName, Vec<Seq>)>,
    /// How many more notifications are pending and not leased.
    pub remaining: u64,
    /// Why the waiter was woken.
    pub why: WhyWoken,
    /// The result of the waiter's barrier, if it has one.
    pub barrier: Option<BarrierReport>,
}

/// One notification of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// The notification's number.
    pub id: Seq,
    /// The record that holds its JSON.
    pub location: Seq,
    /// Whether it may have been delivered before.
    pub redelivered: bool,
}

impl Presence {
    /// Returns the items that a waiter could receive now, in delivery order within each inbox.
    pub(super) fn available<'s, 'a>(
        &'s self,
        state: &'a State,
        spec: &'s WaitSpec,
    ) -> impl Iterator<Item = &'a Item> + use<'s, 'a> {
        spec.inboxes
            .iter()
            .flat_map(move |inbox| self.available_in(state, spec, inbox))
    }

    fn available_in<'s, 'a>(
        &'s self,
        state: &'a State,
        spec: &'s WaitSpec,
        inbox: &'s InboxName,
    ) -> impl Iterator<Item = &'a Item> + use<'s, 'a> {
        let project = &spec.project;
        let door = self.door(project, inbox);
        let free = move |item: &&Item| door.is_none_or(|door| !door.leased.contains_key(&item.seq));
        let wanted = |item: &&Item| {
            spec.filter
                .matches_item(item.seq, &item.from, item.kind, item.priority)
        };
        let pending = state
            .inbox(project, inbox)
            .into_iter()
            .flat_map(Inbox::offerable);
        let untried = |item: &&Item| spec.way.is_none_or(|way| !item.tried.contains(&way));
        pending.filter(free).filter(wanted).filter(untried)
    }

    pub(super) fn was_returned(&self, spec: &WaitSpec, id: Seq) -> bool {
        let returned = |inbox| {
            self.door(&spec.project, inbox)
                .is_some_and(|door| door.returned.contains(&id))
        };
        spec.inboxes.iter().any(returned)
    }

    /// Ends a wait with the available notifications.
    pub(super) fn finish(&mut self, state: &State, id: WaiterId, why: WhyWoken, now: Now) {
        let Some(waiter) = self.take(id) else { return };
        let batch = self.gather(state, &waiter.spec, why);
        let met = batch.barrier.as_ref().is_some_and(|barrier| barrier.met);
        if batch.items.is_empty() && !met {
            waiter.answer(Outcome::Empty);
            return;
        }
        let lease = self.lease(&waiter.spec, &batch, LEASE, now);
        if let (WhyWoken::Arrived { id, .. }, Some(since)) = (&batch.why, waiter.woken) {
            let of = batch.lease.iter().find(|(_, ids)| ids.contains(id));
            if let Some((inbox, _)) = of {
                self.latencies.begin(inbox, *id, since);
            }
        }
        if waiter.answer(Outcome::Batch(batch)).is_some() {
            self.release(state, lease, now);
        }
    }

    /// Leases the available notifications without affecting the inbox's waiter; `None` if there are none.
    pub fn take_aside(&mut self, state: &State, spec: &WaitSpec, now: Now) -> Option<Batch> {
        let batch = self.gather(state, spec, WhyWoken::Pending);
        if batch.items.is_empty() {
            return None;
        }
        self.lease(spec, &batch, ASIDE_LEASE, now);
        Some(batch)
    }

    fn gather(&self, state: &State, spec: &WaitSpec, why: WhyWoken) -> Batch {
        let project = &spec.project;
        // An item may be pending in two of the inboxes. It is offered once, and one lease covers both.
        let mut found: BTreeMap<_, (&Item, Vec<&InboxName>)> = BTreeMap::new();
        for inbox in &spec.inboxes {
            for item in self.available_in(state, spec, inbox).take(MAX_ITEMS) {
                found
                    .entry((item.priority, item.seq))
                    .or_insert((item, Vec::new()))
                    .1
                    .push(inbox);
            }
        }
        let mut batch = Batch {
            items: Vec::new(),
            project: project.clone(),
            by: spec.name.clone(),
            shown: spec
                .session
                .clone()
                .map(|it| (it, spec.way.unwrap_or(Way::Wait))),
            lease: spec
                .inboxes
                .iter()
                .map(|inbox| (inbox.clone(), Vec::new()))
                .collect(),
            remaining: 0,
            barrier: spec
                .barrier
                .as_ref()
                .map(|barrier| barrier.report(state, project, &why)),
            why,
        };
        let mut bytes = 0;
        for (item, inboxes) in found.into_values().take(MAX_ITEMS) {
            bytes += item.size as usize;
            if bytes > spec.room && !batch.items.is_empty() {
                break;
            }
            let location = state.location(item.seq).unwrap_or(item.seq);
            batch.items.push(Offered {
                id: item.seq,
                location,
                redelivered: item.seq <= self.offered
                    || !item.tried.is_empty()
                    || self.was_returned(spec, item.seq),
            });
            for (inbox, ids) in &mut batch.lease {
                if inboxes.contains(&&*inbox) {
                    ids.push(item.seq);
                }
            }
        }
        batch.lease.retain(|(_, ids)| !ids.is_empty());
        for (_, ids) in &mut batch.lease {
            ids.sort_unstable();
        }
        batch.remaining = self.remaining(state, spec, &batch);
        batch
    }

    fn remaining(&self, state: &State, spec: &WaitSpec, batch: &Batch) -> u64 {
        let taken: usize = batch.lease.iter().map(|(_, ids)| ids.len()).sum();
        let project = &spec.project;
        let unread = |inbox: &Inbox| inbox.len() - inbox.unproven().len();
        let pending = |inbox| state.inbox(project, inbox).map_or(0, unread);
        let leased = |inbox| self.leased_count(project, inbox);
        let free: usize = spec
            .inboxes
            .iter()
            .map(|inbox| pending(inbox).saturating_sub(leased(inbox)))
            .sum();
        free.saturating_sub(taken) as u64
    }

    fn lease(&mut self, spec: &WaitSpec, batch: &Batch, term: Duration, now: Now) -> LeaseId {
        self.next_id += 1;
        let id = LeaseId(self.next_id);
        let until = now.mono + term;
        for (inbox, ids) in &batch.lease {
            let door = self.door_mut(&spec.project, inbox);
            door.leased.extend(ids.iter().map(|seq| (*seq, id)));
        }
        let project = spec.project.clone();
        self.leases.insert(
            id,
            Lease {
                project,
                items: batch.lease.clone(),
                by: spec.name.clone(),
                until,
            },
        );
        self.due.insert((until, Due::Lease(id)));
        id
    }

    /// Returns each inbox in which a notification is leased, with the name of the reader.
    pub fn lessees(&self, id: Seq) -> Vec<(ProjectName, InboxName, Option<String>)> {
        let of_lease = |lease: &Lease| {
            let here = lease.items.iter().filter(|(inbox, ids)| {
                ids.contains(&id) && self.is_leased(&lease.project, inbox, id)
            });
            here.map(|(inbox, _)| (lease.project.clone(), inbox.clone(), lease.by.clone()))
                .collect::<Vec<_>>()
        };
        self.leases.values().flat_map(of_lease).collect()
    }

    /// Ends a lease. Unacknowledged items are offered again, marked as redelivered.
    pub(super) fn release(&mut self, state: &State, id: LeaseId, now: Now) {
        let Some(lease) = self.leases.remove(&id) else {
            return;
        };
        self.due.remove(&(lease.until, Due::Lease(id)));
        for (inbox, ids) in &lease.items {
            self.latencies.forget(inbox, ids);
            let door = self.door_mut(&lease.project, inbox);
            for seq in ids {
                if door.leased.get(seq) == Some(&id) {
                    door.leased.remove(seq);
                    door.returned.insert(*seq);
                }
            }
        }
        self.offer_again(state, &lease.project, &lease.items, now);
    }

    /// Offers items again in all of their inboxes at once, so that the next waiter leases them everywhere.
    fn offer_again(
        &mut self,
        state: &State,
        project: &ProjectName,
        items: &[(InboxName, Vec<Seq>)],
        now: Now,
    ) {
        let waiter_at = |(inbox, _): &(InboxName, _)| self.door(project, inbox)?.waiter;
        let waiters: BTreeSet<WaiterId> = items.iter().filter_map(waiter_at).collect();
        for waiter in waiters {
            self.consider(state, waiter, now);
        }
        for (inbox, _) in items {
            self.forget_idle(project, inbox);
        }
    }

    /// Ends the lease on items that a reader has no room for. They are offered again as if they had never been leased.
    pub fn give_back(
        &mut self,
        state: &State,
        project: &ProjectName,
        items: &[(InboxName, Vec<Seq>)],
        now: Now,
    ) {
        for (inbox, ids) in items {
            self.latencies.forget(inbox, ids);
            let door = self.door_mut(project, inbox);
            door.leased.retain(|id, _| !ids.contains(id));
        }
        self.offer_again(state, project, items, now);
    }

    /// Ends the leases of a reader that waits again, because it has lost the batch that it did not acknowledge.
    pub(super) fn release_leases_of(&mut self, state: &State, name: &str, now: Now) {
        let of_reader =
            |(id, lease): (&LeaseId, &Lease)| (lease.by.as_deref() == Some(name)).then_some(*id);
        let ids: Vec<LeaseId> = self.leases.iter().filter_map(of_reader).collect();
        for id in ids {
            self.release(state, id, now);
        }
    }
}
