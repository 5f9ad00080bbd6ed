//! Wakes: a waiter's condition is checked when an item arrives or returns, when a session changes, and at deadlines.

use std::time::Instant;

use hub_protocol::{InboxName, ProjectName, Seq, WhyWoken};

use super::verdict::excluded;
use super::waiter::{Outcome, Waiter, WaiterId};
use super::{Timer, Waiters};
use crate::fold::{Item, State};
use crate::time::Now;

impl Waiters {
    /// Checks the waiter of an inbox in which a notification became pending. Returns whether its condition was met.
    pub fn arrived(
        &mut self,
        state: &State,
        project: &ProjectName,
        inbox: &InboxName,
        id: Seq,
        now: Now,
    ) -> bool {
        let Some(waiter_id) = self.slot(project, inbox).and_then(|slot| slot.waiter) else {
            return false;
        };
        let waiter = &self.parked[&waiter_id];
        if !waiter.is_connected() {
            self.dismiss(waiter_id, Outcome::TakenOver);
            return false;
        }
        if waiter.spec.barrier.is_some() {
            return self.consider(state, waiter_id, now);
        }
        let Some(item) = state
            .inboxes
            .get(project, inbox)
            .and_then(|inbox| inbox.get(id))
        else {
            return false;
        };
        let slot = self.slot(project, inbox);
        if !item.wakes || excluded(slot, &waiter.spec, item).is_some() {
            return false;
        }
        let why = WhyWoken::Arrived {
            id,
            from: item.from.clone(),
            kind: item.kind,
        };
        if self.admitted(state, waiter_id, [item], now).is_none() {
            return false;
        }
        self.settle_or_finish(state, waiter_id, why, now)
    }

    /// Offers items again that a reader showed without proof of arrival, and checks the inbox's waiter.
    pub fn returned(
        &mut self,
        state: &State,
        (project, inbox): (&ProjectName, &InboxName),
        ids: &[Seq],
        now: Now,
    ) {
        let slot = self.slot_mut(project, inbox);
        slot.returned.extend(ids);
        if let Some(waiter) = slot.waiter {
            self.consider(state, waiter, now);
        }
    }

    /// Checks a project's waiters with a barrier after the state of one of its sessions changed. Returns how many had their
    /// condition met.
    pub fn session_changed(&mut self, state: &State, project: &ProjectName, now: Now) -> u32 {
        self.dismiss_gone();
        let of_project = |id: &&WaiterId| {
            let waiter = self.parked.get(id);
            waiter.is_some_and(|it| it.spec.project == *project)
        };
        let ids: Vec<WaiterId> = self.barriers.iter().filter(of_project).copied().collect();
        ids.into_iter()
            .map(|id| u32::from(self.consider(state, id, now)))
            .sum()
    }

    /// Ends the waits with a barrier whose clients are gone. Each change of a session would check them until their time is
    /// over, which is a day for the background waits of MCP clients.
    fn dismiss_gone(&mut self) {
        let is_gone = |id: &&WaiterId| self.parked.get(id).is_some_and(|it| !it.is_connected());
        let gone: Vec<WaiterId> = self.barriers.iter().filter(is_gone).copied().collect();
        for id in gone {
            self.dismiss(id, Outcome::TakenOver);
        }
    }

    /// Checks whether the available items meet a waiter's condition. Ends the wait, or starts its lull, if they do.
    pub(super) fn consider(&mut self, state: &State, id: WaiterId, now: Now) -> bool {
        let Some(waiter) = self.parked.get(&id) else {
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
        // Without a session there is no wake limit, so the first item decides.
        let some = waiter.spec.session.as_ref().map_or(1, |_| usize::MAX);
        let available = self.available(state, &waiter.spec);
        let waking: Vec<&Item> = available.filter(|item| item.wakes).take(some).collect();
        let Some(seq) = self.admitted(state, id, waking, now) else {
            return false;
        };
        let why = match self.parked.get(&id) {
            Some(waiter) if self.was_returned(&waiter.spec, seq) => WhyWoken::Returned,
            _ => WhyWoken::Pending,
        };
        self.settle_or_finish(state, id, why, now)
    }

    /// Returns the first of `items` that may wake the waiter, and counts the wake. If limits hold all of them back, the
    /// waiter is checked again when the first limit ends.
    fn admitted<'a>(
        &mut self,
        state: &State,
        id: WaiterId,
        items: impl IntoIterator<Item = &'a Item>,
        now: Now,
    ) -> Option<Seq> {
        let mut items = items.into_iter();
        let waiter = self.parked.get(&id)?;
        let session = match &waiter.spec.session {
            Some(session) if !waiter.is_settling() => session,
            _ => return items.next().map(|item| item.seq),
        };
        let (project, session) = (waiter.spec.project.clone(), session.clone());
        let mut again: Option<Instant> = None;
        for item in items {
            match self.check(state, (&project, &session), item, now.mono) {
                Ok(()) => {
                    let standing = state.wake_class(&project, &session, item);
                    let log = self.wakes.entry((project, session)).or_default();
                    log.count(standing, now.mono);
                    return Some(item.seq);
                }
                Err((until, _)) => again = Some(again.map_or(until, |at| at.min(until))),
            }
        }
        // If no item is held back, the waiter keeps its deadline, so its entry must stay.
        let again = again?;
        let waiter = self.parked.get_mut(&id)?;
        self.due.remove(&(waiter.due, Timer::Waiter(id)));
        waiter.hold_until(again);
        self.due.insert((waiter.due, Timer::Waiter(id)));
        None
    }

    fn settle_or_finish(&mut self, state: &State, id: WaiterId, why: WhyWoken, now: Now) -> bool {
        let Some(waiter) = self.parked.get_mut(&id) else {
            return false;
        };
        let due = waiter.due;
        waiter.woken.get_or_insert(now.mono);
        if waiter.settle(&why, now.mono) {
            let waiter_due = waiter.due;
            self.due.remove(&(due, Timer::Waiter(id)));
            self.due.insert((waiter_due, Timer::Waiter(id)));
        } else {
            self.finish(state, id, why, now);
        }
        true
    }

    /// Returns why a wait whose lull is over ends now, if it does: others may have taken meanwhile what it was to be woken for.
    fn reason_after_lull(&self, state: &State, waiter: &Waiter) -> Option<WhyWoken> {
        let (why, spec) = (waiter.settled()?, &waiter.spec);
        let available = || self.available(state, spec);
        if available().next().is_some() {
            return Some(why);
        }
        { spec.barrier.as_ref()? }.verdict(state, &spec.project, available)
    }

    pub(super) fn waiter_due(&mut self, state: &State, id: WaiterId, now: Now) {
        let Some(waiter) = self.parked.get_mut(&id) else {
            return;
        };
        if !waiter.is_connected() {
            return self.dismiss(id, Outcome::TakenOver);
        }
        if let Some(why) = self.reason_after_lull(state, &self.parked[&id]) {
            return self.finish(state, id, why, now);
        }
        let Some(waiter) = self.parked.get_mut(&id) else {
            return;
        };
        if now.mono >= waiter.spec.deadline {
            if waiter.spec.barrier.is_some() {
                return self.finish(state, id, WhyWoken::Timeout, now);
            }
            // The hub's own wait in the place of a session ends without a turn.
            let session = waiter.spec.session.clone();
            if let Some(session) = session.filter(|_| !waiter.yields()) {
                let place = (waiter.spec.project.clone(), session);
                self.activity.timed_out(place, now.mono);
            }
            let held = self.held_from(state, &self.parked[&id].spec, now);
            return self.dismiss(id, held.map_or(Outcome::Empty, Outcome::HeldBack));
        }
        waiter.wait_on();
        self.due.insert((waiter.due, Timer::Waiter(id)));
        self.consider(state, id, now);
    }
}
