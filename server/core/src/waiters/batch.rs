//! Batches: the notifications that a waiter receives, and the lease on them.

use std::collections::BTreeMap;

use hub_protocol::{BarrierReport, Epoch, InboxName, ProjectName, Seq, Way, WhyWoken};

use super::Waiters;
use super::lease::{ASIDE_LEASE, LEASE};
use super::lease_token::Claim;
use super::verdict::excluded;
use super::waiter::{Outcome, WaitSpec, WaiterId};
use crate::fold::{Inbox, Item, State};
use crate::time::Now;

/// The most notifications in one answer.
const MAX_ITEMS: usize = 500;
/// The most bytes of JSON in one answer; a single notification may exceed it.
pub const MAX_BYTES: usize = 256 << 10;

/// The most bytes of text in the answer to a hook. Above it, agents move a hook's text into a file instead of showing it
/// to the model.
pub const MAX_TEXT_BYTES: usize = 9_000;

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

impl Batch {
    /// The claim of this batch, which its lease token signs.
    pub fn claim(&self, epoch: Epoch) -> Claim {
        Claim {
            epoch,
            project: self.project.clone(),
            by: self.by.clone(),
            shown: self.shown.clone(),
            items: self.lease.clone(),
        }
    }
}

impl Waiters {
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
        let slot = self.slot(project, inbox);
        let pending = state
            .inboxes
            .get(project, inbox)
            .into_iter()
            .flat_map(Inbox::pending);
        pending.filter(move |item| excluded(slot, spec, item).is_none())
    }

    pub(super) fn was_returned(&self, spec: &WaitSpec, id: Seq) -> bool {
        let returned = |inbox| {
            self.slot(&spec.project, inbox)
                .is_some_and(|slot| slot.returned.contains(&id))
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
        let term = match spec.way {
            Some(Way::Hook) => ASIDE_LEASE,
            _ => LEASE,
        };
        self.lease(spec, &batch, term, now);
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
                    || !item.delivery().tried.is_empty()
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
        let pending = |inbox| state.inboxes.get(project, inbox).map_or(0, unread);
        let leased = |inbox| self.leased_count(project, inbox);
        let free: usize = spec
            .inboxes
            .iter()
            .map(|inbox| pending(inbox).saturating_sub(leased(inbox)))
            .sum();
        free.saturating_sub(taken) as u64
    }
}
