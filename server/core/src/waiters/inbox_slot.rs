//! Inbox slots: the waiter at one inbox, and the leases on its items.

use std::collections::{BTreeMap, BTreeSet};

use hub_protocol::{InboxName, ProjectName, Seq};

use super::Waiters;
use super::lease::LeaseId;
use super::waiter::WaiterId;
use crate::fold::State;

/// The slot of one inbox.
#[derive(Debug, Default)]
pub(super) struct InboxSlot {
    pub(super) waiter: Option<WaiterId>,
    pub(super) leased: BTreeMap<Seq, LeaseId>,
    /// Items that were offered but not acknowledged; the next offer is marked as redelivered.
    pub(super) returned: BTreeSet<Seq>,
}

impl InboxSlot {
    pub(super) fn is_idle(&self) -> bool {
        self.waiter.is_none() && self.leased.is_empty() && self.returned.is_empty()
    }

    pub(super) fn forget(&mut self, ids: &[Seq]) {
        for id in ids {
            self.leased.remove(id);
            self.returned.remove(id);
        }
    }
}

impl Waiters {
    /// Forgets the leases of items that stopped being pending in one inbox.
    pub fn settled(&mut self, project: &ProjectName, inbox: &InboxName, ids: &[Seq]) {
        let Some(slot) = self
            .slots
            .get_mut(project)
            .and_then(|inboxes| inboxes.get_mut(inbox))
        else {
            return;
        };
        slot.forget(ids);
        self.forget_idle(project, inbox);
    }

    /// Forgets the leases of items that stopped being pending in every inbox.
    pub fn settled_everywhere(&mut self, ids: &[Seq]) {
        for inboxes in self.slots.values_mut() {
            inboxes.retain(|_, slot| {
                slot.forget(ids);
                !slot.is_idle()
            });
        }
        self.slots.retain(|_, inboxes| !inboxes.is_empty());
    }

    /// Forgets the leases of an inbox that was closed. What has arrived since may be leased already.
    pub fn closed(&mut self, state: &State, project: &ProjectName, inbox: &InboxName) {
        let pending = state.inboxes.get(project, inbox);
        let is_pending = |id: &Seq| pending.is_some_and(|it| it.get(*id).is_some());
        let slot = self.slot_mut(project, inbox);
        slot.leased.retain(|id, _| is_pending(id));
        slot.returned.retain(is_pending);
        self.forget_idle(project, inbox);
    }

    /// Drops a slot without waiter and leases. Otherwise a client could fill the memory by waiting at ever new inboxes.
    pub(super) fn forget_idle(&mut self, project: &ProjectName, inbox: &InboxName) {
        let Some(inboxes) = self.slots.get_mut(project) else {
            return;
        };
        if inboxes.get(inbox).is_some_and(InboxSlot::is_idle) {
            inboxes.remove(inbox);
        }
        if inboxes.is_empty() {
            self.slots.remove(project);
        }
    }

    pub(super) fn slot(&self, project: &ProjectName, inbox: &InboxName) -> Option<&InboxSlot> {
        self.slots.get(project)?.get(inbox)
    }

    pub(super) fn slot_mut(&mut self, project: &ProjectName, inbox: &InboxName) -> &mut InboxSlot {
        if !self
            .slots
            .get(project)
            .is_some_and(|inboxes| inboxes.contains_key(inbox))
        {
            self.slots
                .entry(project.clone())
                .or_default()
                .entry(inbox.clone())
                .or_default();
        }
        self.slots
            .get_mut(project)
            .and_then(|inboxes| inboxes.get_mut(inbox))
            .expect("the slot was just made")
    }
}
