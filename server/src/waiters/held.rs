//! Notifications that a wake limit holds back. They are stored nowhere: each query computes them from the pending items
//! and the session's last wakes.

use std::time::Instant;

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp};

use super::Presence;
use super::limits::{Limit, WakeLog};
use super::waiter::{WaitSpec, Waiter};
use crate::core::filter::Filter;
use crate::core::time::Now;
use crate::fold::{Item, State};

/// The number of notifications that a wake limit holds back from a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldBack {
    /// How many are held back.
    pub count: u64,
    /// When the first of them may wake the session.
    pub until: Timestamp,
}

/// Why a notification does not wake its session now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// When it may wake the session.
    pub until: Timestamp,
    /// The limit that is reached.
    pub limit: Limit,
}

impl Presence {
    /// Returns the notifications held back in an inbox; `None` if there are none, or if one of them may wake its
    /// session.
    pub fn held_back(
        &self,
        state: &State,
        (project, inbox): (&ProjectName, &InboxName),
        now: Now,
    ) -> Option<HeldBack> {
        let session = self.limited(state, project, inbox)?;
        let pending = state.inbox(project, inbox)?.offerable();
        let items = pending.filter(|item| self.would_wake((project, inbox), item));
        self.all_held(state, (project, &session), items, now)
    }

    /// Returns the notifications held back from a waiter.
    pub(super) fn held_from(&self, state: &State, spec: &WaitSpec, now: Now) -> Option<HeldBack> {
        let session = spec.session.as_ref().filter(|_| spec.barrier.is_none())?;
        let items = self.available(state, spec).filter(|item| item.wakes);
        self.all_held(state, (&spec.project, session), items, now)
    }

    /// Returns the wake limit that keeps a notification from waking the session that reads this inbox, if there is one.
    pub fn hold_of(
        &self,
        state: &State,
        (project, inbox): (&ProjectName, &InboxName),
        id: Seq,
        now: Now,
    ) -> Option<Hold> {
        let item = state.inbox(project, inbox)?.get(id);
        let item =
            item.filter(|it| it.emitted.is_none() && self.would_wake((project, inbox), it))?;
        let session = self.limited(state, project, inbox)?;
        let (until, limit) = self
            .check(state, (project, &session), item, now.mono)
            .err()?;
        let until = wall(until, now);
        let limit = limit.shown(|key| state.shown_name(project, key).parse().ok());
        Some(Hold { until, limit })
    }

    /// Whether an item that is pending here would wake a waiter if there were no limits.
    fn would_wake(&self, (project, inbox): (&ProjectName, &InboxName), item: &Item) -> bool {
        let waiter = self.waiter_at(project, inbox);
        let takes = |it: &Filter| it.matches_item(item.seq, &item.from, item.kind, item.priority);
        item.wakes
            && !self.is_leased(project, inbox, item.seq)
            && waiter.is_none_or(|it| takes(&it.spec.filter))
    }

    fn waiter_at(&self, project: &ProjectName, inbox: &InboxName) -> Option<&Waiter> {
        let id = self.door(project, inbox)?.waiter?;
        self.waiters.get(&id).filter(|it| it.is_connected())
    }

    /// Checks whether `item` may wake a session now. The error is the limit that is reached and when it ends.
    pub(super) fn check(
        &self,
        state: &State,
        (project, session): (&ProjectName, &InboxName),
        item: &Item,
        now: Instant,
    ) -> Result<(), (Instant, Limit)> {
        let standing = state.wake_class(project, session, item);
        let unwoken = WakeLog::default();
        let log = self.wakes.get(&(project.clone(), session.clone()));
        log.unwrap_or(&unwoken).check(&self.limits, &standing, now)
    }

    /// Returns the session whose wakes from this inbox are limited: the waiter's, or without a waiter the one that
    /// reads the inbox. A waiter without a session, or with a barrier, has no limit.
    fn limited(
        &self,
        state: &State,
        project: &ProjectName,
        inbox: &InboxName,
    ) -> Option<InboxName> {
        if let Some(waiter) = self.waiter_at(project, inbox) {
            let limited = waiter.spec.barrier.is_none() && !waiter.is_settling();
            return waiter.spec.session.clone().filter(|_| limited);
        }
        let session = match inbox.as_str() {
            InboxName::PRIMARY => state.primary(project)?,
            _ => inbox,
        };
        state.session(project, session)?.info()?;
        Some(session.clone())
    }

    fn all_held<'a>(
        &self,
        state: &State,
        place: (&ProjectName, &InboxName),
        items: impl Iterator<Item = &'a Item>,
        now: Now,
    ) -> Option<HeldBack> {
        let (mut count, mut first) = (0, None::<Instant>);
        for item in items {
            let (until, _) = self.check(state, place, item, now.mono).err()?;
            first = Some(first.map_or(until, |at| at.min(until)));
            count += 1;
        }
        let until = wall(first?, now);
        Some(HeldBack { count, until })
    }
}

/// Returns the wall clock's time of a future moment.
fn wall(at: Instant, now: Now) -> Timestamp {
    let ahead = at.saturating_duration_since(now.mono).as_millis();
    now.wall.plus_millis(ahead.try_into().unwrap_or(i64::MAX))
}
