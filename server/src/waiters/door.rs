//! Doors: presence at one inbox.

use std::collections::{HashMap, HashSet};

use hub_protocol::{InboxName, ProjectName, Seq};

use super::Waiters;
use super::batch::LeaseId;
use super::waiter::WaiterId;

/// The waiter at an inbox, and the leases on its items.
#[derive(Debug, Default)]
pub(super) struct Door {
    pub(super) waiter: Option<WaiterId>,
    pub(super) leased: HashMap<Seq, LeaseId>,
    /// Items that were offered but not acknowledged; the next offer is marked as redelivered.
    pub(super) returned: HashSet<Seq>,
}

impl Door {
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
        let Some(door) = self
            .doors
            .get_mut(project)
            .and_then(|inboxes| inboxes.get_mut(inbox))
        else {
            return;
        };
        door.forget(ids);
        self.forget_idle(project, inbox);
    }

    /// Forgets the leases of items that stopped being pending in every inbox.
    pub fn settled_everywhere(&mut self, ids: &[Seq]) {
        for inboxes in self.doors.values_mut() {
            inboxes.retain(|_, door| {
                door.forget(ids);
                !door.is_idle()
            });
        }
        self.doors.retain(|_, inboxes| !inboxes.is_empty());
    }

    /// Forgets the leases of an inbox that was closed.
    pub fn closed(&mut self, project: &ProjectName, inbox: &InboxName) {
        let door = self.door_mut(project, inbox);
        door.leased.clear();
        door.returned.clear();
        self.forget_idle(project, inbox);
    }

    /// Drops a door without waiter and leases. Otherwise a client could fill the memory by waiting at ever new inboxes.
    pub(super) fn forget_idle(&mut self, project: &ProjectName, inbox: &InboxName) {
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

    pub(super) fn door(&self, project: &ProjectName, inbox: &InboxName) -> Option<&Door> {
        self.doors.get(project)?.get(inbox)
    }

    pub(super) fn door_mut(&mut self, project: &ProjectName, inbox: &InboxName) -> &mut Door {
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
