//! Verdicts: why a pending item has not woken the reader of its inbox. Waits are decided by the same checks.

use std::time::Instant;

use hub_protocol::{Holder, InboxName, ProjectName, SessionState, Timestamp, Way};

use super::inbox_slot::InboxSlot;
use super::limits::wall;
use super::waiter::WaitSpec;
use super::{Hold, Waiters};
use crate::fold::{Item, Session, SessionKey, State};
use crate::time::Now;

/// Why a waiter is not offered an item of one of its inboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excluded {
    /// A reader has shown it, and no hook event has proved its arrival yet.
    Shown(Timestamp, Way),
    /// A reader has leased it.
    Leased,
    /// The waiter's filter does not match it.
    Filtered,
    /// It was shown in the waiter's way before, without proof.
    Tried(Way),
}

/// Returns why a waiter is not offered an item of the inbox with this slot; `None` if it is.
pub(super) fn excluded(slot: Option<&InboxSlot>, spec: &WaitSpec, item: &Item) -> Option<Excluded> {
    let filter = &spec.filter;
    if let Some((at, way)) = item.delivery().emitted {
        Some(Excluded::Shown(at, way))
    } else if slot.is_some_and(|slot| slot.leased.contains_key(&item.seq)) {
        Some(Excluded::Leased)
    } else if !filter.matches_item(item.seq, &item.from, item.kind, item.priority) {
        Some(Excluded::Filtered)
    } else {
        let tried = spec.way.filter(|way| item.delivery().tried.contains(way));
        tried.map(Excluded::Tried)
    }
}

/// Why a pending item has not woken the reader of its inbox: the first of these that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeVerdict {
    /// A reader has shown it in this way, and no hook event has proved its arrival yet.
    Shown(Timestamp, Way),
    /// A reader has leased it.
    Leased {
        /// The reader.
        by: Option<String>,
        /// When it is offered again without an acknowledgement.
        until: Timestamp,
    },
    /// It wakes nobody here.
    RidesAlong,
    /// The waiter's filter does not match it.
    Filtered(Holder),
    /// The waiter waits for these sessions, or for a number of items if there are none.
    Barrier(Holder, Vec<InboxName>),
    /// It was shown in the waiter's way before, without proof.
    Tried(Holder, Way),
    /// The waiter's condition is met, and it collects further items until then.
    Settling(Holder, Timestamp),
    /// A wake limit holds it back from the waiter.
    Held(Hold),
    /// It wakes the waiter now.
    Wakes(Holder),
    /// The inbox has no waiter.
    Unattended,
}

/// Whether the hub can wake a session that has no waiter, as far as its state tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It has ended.
    Ended,
    /// Its hooks have never reported.
    NoHooks,
    /// It is in a turn, so its next hook delivers.
    Busy,
    /// It shows a dialog.
    Asks,
    /// It has a waiter of its own.
    Waits,
    /// Its module polls again in a moment.
    Polls,
    /// The hub waits in its place, if it finds a way to wake it.
    Idle,
}

impl Waiters {
    /// Returns why an item that is pending in an inbox has not woken the inbox's reader.
    pub fn verdict(
        &self,
        state: &State,
        (project, inbox): (&ProjectName, &InboxName),
        item: &Item,
        now: Now,
    ) -> WakeVerdict {
        let slot = self.slot(project, inbox);
        let waiter = self.waiter_at(project, inbox);
        let anyone = WaitSpec::drain(project.clone(), None, String::new(), 0);
        let spec = waiter.map_or(&anyone, |it| &it.spec);
        let excluded = excluded(slot, spec, item);
        match excluded {
            Some(Excluded::Shown(at, way)) => return WakeVerdict::Shown(at, way),
            Some(Excluded::Leased) => return self.leased(slot, item, now),
            _ if !item.wakes => return WakeVerdict::RidesAlong,
            Some(Excluded::Filtered | Excluded::Tried(_)) | None => {}
        }
        let Some(waiter) = waiter else {
            return WakeVerdict::Unattended;
        };
        let holder = waiter.holder();
        match excluded {
            Some(Excluded::Tried(way)) => return WakeVerdict::Tried(holder, way),
            Some(_) => return WakeVerdict::Filtered(holder),
            None => {}
        }
        if waiter.is_settling() {
            return WakeVerdict::Settling(holder, wall(waiter.due, now));
        }
        if let Some(barrier) = &waiter.spec.barrier {
            let available = || self.available(state, &waiter.spec);
            return match barrier.verdict(state, project, available) {
                Some(_) => WakeVerdict::Wakes(holder),
                None => WakeVerdict::Barrier(holder, barrier.missing_names(state, project)),
            };
        }
        match self.hold_of(state, (project, inbox), item.seq, now) {
            Some(hold) => WakeVerdict::Held(hold),
            None => WakeVerdict::Wakes(holder),
        }
    }

    fn leased(&self, slot: Option<&InboxSlot>, item: &Item, now: Now) -> WakeVerdict {
        let lease = slot.and_then(|slot| self.leases.get(slot.leased.get(&item.seq)?));
        WakeVerdict::Leased {
            by: lease.and_then(|lease| lease.by.clone()),
            until: lease.map_or(now.wall, |lease| wall(lease.until, now)),
        }
    }

    /// Returns whether the hub can wake a session that has no waiter of its own.
    pub fn reach(&self, place: &SessionKey, session: &Session, now: Instant) -> Reach {
        let own = self.holder(&place.0, &place.1);
        if !session.is_alive() {
            Reach::Ended
        } else if !session.has_hooks() {
            Reach::NoHooks
        } else if session.is_in_turn() {
            Reach::Busy
        } else if session.state == Some(SessionState::Blocked) {
            Reach::Asks
        } else if own.is_some_and(|it| !it.way.is_some_and(Way::is_pushed)) {
            Reach::Waits
        } else if self.has_module(place, now) {
            Reach::Polls
        } else {
            Reach::Idle
        }
    }
}
