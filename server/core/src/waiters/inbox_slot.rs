//! Inbox slots: the waiter at one inbox, and the leases on its items.

use std::collections::{HashMap, HashSet};

use hub_protocol::{InboxName, ProjectName, Seq};

use super::Waiters;
use super::lease::LeaseId;
use super::waiter::WaiterId;

/// The slot of one inbox.
#[derive(Debug, Default)]
pub(super) struct InboxSlot {
    pub(super) waiter: Option<WaiterId>,
    pub(super) leased: HashMap<Seq, LeaseId>,
    /// Items that were offered but not acknowledged; the next offer is marked as redelivered.
    pub(super) returned: HashSet<Seq>,
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

    /// Forgets the leases of an inbox that was closed.
    pub fn closed(&mut self, project: &ProjectName, inbox: &InboxName) {
        let slot = self.slot_mut(project, inbox);
        slot.leased.clear();
        slot.returned.clear();
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
