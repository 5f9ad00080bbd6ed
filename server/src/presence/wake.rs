//! When a waiter is woken: its condition is looked at when something arrives, returns, settles or is due.

use std::time::Instant;

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
        if self.admitted(waiter_id, [item], now).is_none() {
            return false;
        }
        self.settle_or_finish(state, waiter_id, why, now)
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
        // Without a limit the first of them decides.
        let some = waiter.spec.session.as_ref().map_or(1, |_| usize::MAX);
        let available = self.available(state, &waiter.spec);
        let waking: Vec<&Item> = available.filter(|item| item.wakes).take(some).collect();
        let Some(seq) = self.admitted(id, waking, now) else {
            return false;
        };
        let why = match self.waiters.get(&id) {
            Some(waiter) if self.was_returned(&waiter.spec, seq) => WhyWoken::Returned,
            _ => WhyWoken::Pending,
        };
        self.settle_or_finish(state, id, why, now)
    }

    /// The first of `items` that may wake the waiter: an agent is not woken by a sender who did so enough, and looks
    /// again when the first of them may.
    fn admitted<'a>(
        &mut self,
        id: WaiterId,
        items: impl IntoIterator<Item = &'a Item>,
        now: Now,
    ) -> Option<Seq> {
        let mut items = items.into_iter();
        let waiter = self.waiters.get_mut(&id)?;
        let session = match &waiter.spec.session {
            Some(session) if !waiter.is_settling() => session,
            _ => return items.next().map(|item| item.seq),
        };
        let log = self
            .wakes
            .entry((waiter.spec.project.clone(), session.clone()))
            .or_default();
        let mut again: Option<Instant> = None;
        for item in items {
            match log.admit(&self.limits, item, now.mono) {
                Ok(()) => return Some(item.seq),
                Err(until) => again = Some(again.map_or(until, |at| at.min(until))),
            }
        }
        self.due.remove(&(waiter.due, Due::Waiter(id)));
        waiter.hold_until(again?);
        self.due.insert((waiter.due, Due::Waiter(id)));
        None
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
            let waits = waiter.spec.barrier.is_none() && now.mono < waiter.spec.deadline;
            let waiter = &self.waiters[&id];
            if !waits || self.available(state, &waiter.spec).next().is_some() {
                return self.finish(state, id, why, now);
            }
        }
        let Some(waiter) = self.waiters.get_mut(&id) else {
            return;
        };
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
        waiter.wait_on();
        self.due.insert((waiter.due, Due::Waiter(id)));
        self.consider(state, id, now);
    }
}
