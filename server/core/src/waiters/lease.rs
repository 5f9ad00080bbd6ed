//! Leases: the time in which a reader can acknowledge a batch before it is offered again.
//!
//! A waiter that asks again under the same name without an acknowledgement has lost its batch: its lease ends, so it
//! gets the batch again at once. A run that ends cleanly stores the last notification that was handed out and not
//! acknowledged (see [`Waiters::offered`]); the next run marks pending notifications up to that one as redelivered.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hub_protocol::{InboxName, ProjectName, Seq};

use super::batch::Batch;
use super::waiter::{WaitSpec, WaiterId};
use super::{Timer, Waiters};
use crate::fold::State;
use crate::time::Now;

/// The time that a reader has to acknowledge before its notifications are offered to others.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// The lease of a hook's answer, which is shorter because the hook shows it at once.
pub(super) const ASIDE_LEASE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LeaseId(u64);

#[derive(Debug)]
pub(super) struct Lease {
    project: ProjectName,
    items: Vec<(InboxName, Vec<Seq>)>,
    pub(super) by: Option<String>,
    pub(super) until: Instant,
}

impl Waiters {
    pub(super) fn lease(
        &mut self,
        spec: &WaitSpec,
        batch: &Batch,
        term: Duration,
        now: Now,
    ) -> LeaseId {
        self.next_id += 1;
        let id = LeaseId(self.next_id);
        let until = now.mono + term;
        for (inbox, ids) in &batch.lease {
            let slot = self.slot_mut(&spec.project, inbox);
            slot.leased.extend(ids.iter().map(|seq| (*seq, id)));
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
        self.due.insert((until, Timer::Lease(id)));
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
        self.due.remove(&(lease.until, Timer::Lease(id)));
        for (inbox, ids) in &lease.items {
            self.latencies.forget(inbox, ids);
            let slot = self.slot_mut(&lease.project, inbox);
            for seq in ids {
                if slot.leased.get(seq) == Some(&id) {
                    slot.leased.remove(seq);
                    slot.returned.insert(*seq);
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
        let waiter_at = |(inbox, _): &(InboxName, _)| self.slot(project, inbox)?.waiter;
        let waiters: BTreeSet<WaiterId> = items.iter().filter_map(waiter_at).collect();
        for waiter in waiters {
            self.consider(state, waiter, now);
        }
        for (inbox, _) in items {
            self.forget_idle(project, inbox);
        }
    }

    /// Ends the lease on items that the reader `by` has no room for. They are offered again as if they had never been leased.
    /// An item that another reader has leased since stays leased.
    pub fn give_back(
        &mut self,
        state: &State,
        (project, by): (&ProjectName, Option<&str>),
        items: &[(InboxName, Vec<Seq>)],
        now: Now,
    ) {
        for (inbox, ids) in items {
            self.latencies.forget(inbox, ids);
            let of_reader =
                |id: &LeaseId| self.leases.get(id).is_some_and(|it| it.by.as_deref() == by);
            let is_its = |id: &Seq| {
                self.slot(project, inbox)
                    .and_then(|it| it.leased.get(id))
                    .is_some_and(of_reader)
            };
            let own: BTreeSet<Seq> = ids.iter().copied().filter(is_its).collect();
            self.slot_mut(project, inbox)
                .leased
                .retain(|id, _| !own.contains(id));
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
