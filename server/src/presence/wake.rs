//! When a waiter is woken: its condition is looked at when something arrives, returns, settles or is due.

use hub_protocol::{InboxName, ProjectName, Seq, WhyWoken};

use super::waiter::{Outcome, WaiterId};
use super::{Due, Presence};
use crate::clock::Now;
use crate::state::{Item, State};

impl Presence {
    /// A notification is durably pending in an inbox. Says whether that met its waiter's condition.
    pub fn arrived(
        &mut self,
        state: &State,
        project: &ProjectName,
        inbox: &InboxName,
        id: Seq,
        now: Now,
    ) -> bool {
        let Some(waiter_id) = self.door(project, inbox).and_then(|door| door.waiter) else {
            return false;
        };
        let waiter = &self.waiters[&waiter_id];
        if !waiter.is_connected() {
            self.dismiss(waiter_id, Outcome::TakenOver);
            return false;
        }
        if waiter.spec.barrier.is_some() {
            return self.consider(state, waiter_id, now);
        }
        let Some(item) = state.inbox(project, inbox).and_then(|inbox| inbox.get(id)) else {
            return false;
        };
        if !item.wakes
            || !waiter
                .spec
                .filter
                .takes_item(item.seq, &item.from, item.kind, item.priority)
        {
            return false;
        }
        let why = WhyWoken::Arrived {
            id,
            from: item.from.clone(),
            kind: item.kind,
        };
        self.trigger(state, waiter_id, item, why, now)
    }

    /// What was shown by a reader is offered again: whoever waits there may take it.
    pub fn returned(
        &mut self,
        state: &State,
        (project, inbox): (&ProjectName, &InboxName),
        ids: &[Seq],
        now: Now,
    ) {
        let door = self.door_mut(project, inbox);
        door.returned.extend(ids);
        if let Some(waiter) = door.waiter {
            self.consider(state, waiter, now);
        }
    }

    /// A session's state changed: barriers that name it may be met.
    pub fn session_changed(&mut self, state: &State, now: Now) -> u32 {
        let ids: Vec<WaiterId> = self.barriers.iter().copied().collect();
        ids.into_iter()
            .map(|id| u32::from(self.consider(state, id, now)))
            .sum()
    }

    /// Looks whether a waiter's condition is met by what is there.
    pub(super) fn consider(&mut self, state: &State, id: WaiterId, now: Now) -> bool {
        let Some(waiter) = self.waiters.get(&id) else {
            return false;
        };
        if let Some(barrier) = &waiter.spec.barrier {
            let project = &waiter.spec.project;
            let available = || self.available(state, &waiter.spec);
            let Some(why) = barrier.verdict(state, project, available) else {
                return false;
            };
            return self.settle_or_finish(state, id, why, now);
        }
        let Some(item) = self.available(state, &waiter.spec).find(|item| item.wakes) else {
            return false;
        };
        let why = if self.was_returned(&waiter.spec, item.seq) {
            WhyWoken::Returned
        } else {
            WhyWoken::Pending
        };
        self.trigger(state, id, item, why, now)
    }

    /// `item` meets the waiter's condition, unless the waiter is an agent that this sender has woken enough.
    fn trigger(
        &mut self,
        state: &State,
        id: WaiterId,
        item: &Item,
        why: WhyWoken,
        now: Now,
    ) -> bool {
        let Some(waiter) = self.waiters.get_mut(&id) else {
            return false;
        };
        if let Some(session) = &waiter.spec.session
            && !waiter.is_settling()
        {
            let log = self
                .wakes
                .entry((waiter.spec.project.clone(), session.clone()))
                .or_default();
            if let Err(until) = log.admit(&self.limits, item, now.mono) {
                self.due.remove(&(waiter.due, Due::Waiter(id)));
                waiter.hold_until(until);
                self.due.insert((waiter.due, Due::Waiter(id)));
                return false;
            }
        }
        self.settle_or_finish(state, id, why, now)
    }

    fn settle_or_finish(&mut self, state: &State, id: WaiterId, why: WhyWoken, now: Now) -> bool {
        let Some(waiter) = self.waiters.get_mut(&id) else {
            return false;
        };
        let due = waiter.due;
        waiter.woken.get_or_insert(now.mono);
        if waiter.settle(&why, now.mono) {
            let waiter_due = waiter.due;
            self.due.remove(&(due, Due::Waiter(id)));
            self.due.insert((waiter_due, Due::Waiter(id)));
        } else {
            self.finish(state, id, why, now);
        }
        true
    }

    pub(super) fn waiter_due(&mut self, state: &State, id: WaiterId, now: Now) {
        let Some(waiter) = self.waiters.get_mut(&id) else {
            return;
        };
        if !waiter.is_connected() {
            return self.dismiss(id, Outcome::TakenOver);
        }
        if let Some(why) = waiter.settled() {
            return self.finish(state, id, why, now);
        }
        if now.mono >= waiter.spec.deadline {
            if waiter.spec.barrier.is_some() {
                return self.finish(state, id, WhyWoken::Timeout, now);
            }
            if let Some(session) = waiter.spec.session.clone() {
                let place = (waiter.spec.project.clone(), session);
                self.company.timed_out(place, now.mono);
            }
            return self.dismiss(id, Outcome::Empty);
        }
        waiter.due = waiter.spec.deadline;
        self.due.insert((waiter.due, Due::Waiter(id)));
        self.consider(state, id, now);
    }
}
