//! Wake limits: how often an agent is woken by one sender and in all. A limit refuses no notification: it stays pending
//! until the next wake. What a limit holds back is stored nowhere: each query computes it from the pending items and the
//! session's last wakes.
//!
//! A limit delays a wake and drops nothing: a waiter that is held back is woken when the limit ends. The class of a wake
//! ([`Standing`]) depends on sender and receiver, never on priority or type alone.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

use hub_protocol::{Counted, InboxName, ProjectName, Seq, Timestamp};

use super::Waiters;
use super::waiter::{WaitSpec, Waiter};
use crate::filter::Filter;
use crate::fold::{Item, State, WakeClass};
use crate::time::Now;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Stops and errors of a session's own workers are exempt from the configured limits. Anyone can claim a worker's name,
/// so their number is bounded all the same.
const WORKERS_PER_MINUTE: usize = 120;

/// How often an agent session may be woken.
#[derive(Debug, Clone, Copy)]
pub struct WakeLimits {
    /// The most wakes by one sender in a minute.
    pub per_sender_per_minute: usize,
    /// The most wakes by all senders in an hour.
    pub per_hour: usize,
}

/// A limit that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// [`WakeLimits::per_sender_per_minute`], with the sender or group of senders, and the number of wakes.
    Sender(WakeClass, usize),
    /// [`WakeLimits::per_hour`], with the number of wakes.
    Hour(usize),
}

impl Limit {
    /// Replaces the session's id in the limit by its name for people.
    pub(super) fn shown(self, name: impl Fn(&InboxName) -> Option<InboxName>) -> Self {
        match self {
            Self::Sender(WakeClass::Session(key), most) => {
                let name = name(&key).unwrap_or(key);
                Self::Sender(WakeClass::Session(name), most)
            }
            limit => limit,
        }
    }
}

impl Limit {
    /// Returns the sender or group of senders that has used up its budget; `None` if all senders have together.
    pub fn spender(&self) -> Option<&str> {
        match self {
            Self::Sender(WakeClass::Session(name), _) => Some(name.as_str()),
            Self::Sender(WakeClass::Worker, _) => Some("its workers"),
            Self::Sender(..) => Some("senders that are no sessions"),
            Self::Hour(_) => None,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wakes = |most| Counted(most, "wake");
        match self {
            Self::Sender(WakeClass::Session(name), most) => {
                write!(f, "{} a minute by {name}", wakes(*most))
            }
            Self::Sender(WakeClass::Worker, most) => {
                write!(f, "{} a minute by its workers", wakes(*most))
            }
            Self::Sender(_, most) => {
                let most = wakes(*most);
                write!(f, "{most} a minute by senders that are no sessions")
            }
            Self::Hour(most) => write!(f, "{} an hour", wakes(*most)),
        }
    }
}

/// The wakes of one agent session in the last hour.
#[derive(Debug, Default)]
pub(super) struct WakeLog {
    /// Wakes that count against the limit of an hour.
    all: VecDeque<Instant>,
    /// Wakes of the last minute by sender or group of senders.
    by: HashMap<WakeClass, VecDeque<Instant>>,
}

impl WakeLog {
    /// Checks whether a wake is allowed. The error is the limit that is reached and when it ends; of two limits the
    /// later end.
    pub(super) fn check(
        &self,
        limits: &WakeLimits,
        standing: &WakeClass,
        now: Instant,
    ) -> Result<(), (Instant, Limit)> {
        let (minute, hour) = match standing {
            WakeClass::Answer | WakeClass::Person => return Ok(()),
            WakeClass::Worker => (WORKERS_PER_MINUTE, None),
            _ => (limits.per_sender_per_minute, Some(limits.per_hour)),
        };
        let until = over(self.by.get(standing), minute, MINUTE, now);
        let minute = until.map(|until| (until, Limit::Sender(standing.clone(), minute)));
        let hour = hour.and_then(|most| {
            let until = over(Some(&self.all), most, HOUR, now)?;
            Some((until, Limit::Hour(most)))
        });
        let reached = minute.into_iter().chain(hour);
        reached.max_by_key(|(until, _)| *until).map_or(Ok(()), Err)
    }

    /// Counts a wake.
    pub(super) fn count(&mut self, standing: WakeClass, now: Instant) {
        self.forget(now);
        match standing {
            WakeClass::Answer | WakeClass::Person => return,
            WakeClass::Worker => {}
            _ => self.all.push_back(now),
        }
        self.by.entry(standing).or_default().push_back(now);
    }

    /// Whether the log contains no wake that still counts.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.all.is_empty() && self.by.is_empty()
    }

    fn forget(&mut self, now: Instant) {
        let drop_older = |wakes: &mut VecDeque<Instant>, span| {
            while wakes
                .front()
                .is_some_and(|&at| now.saturating_duration_since(at) >= span)
            {
                wakes.pop_front();
            }
        };
        drop_older(&mut self.all, HOUR);
        self.by.retain(|_, wakes| {
            drop_older(wakes, MINUTE);
            !wakes.is_empty()
        });
    }
}

/// Returns when the limit ends, or `None` if it is not reached. It ends when the oldest of the last `limit` wakes
/// leaves `span`.
fn over(
    wakes: Option<&VecDeque<Instant>>,
    limit: usize,
    span: Duration,
    now: Instant,
) -> Option<Instant> {
    let oldest = wakes.map_or(0, VecDeque::len).checked_sub(limit)?;
    let until = wakes
        .and_then(|wakes| wakes.get(oldest))
        .map_or_else(|| now + span, |&at| at + span);
    (until > now).then_some(until)
}

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

impl Waiters {
    /// Returns the notifications held back in an inbox; `None` if there are none, or if one of them may wake its
    /// session.
    pub fn held_back(
        &self,
        state: &State,
        (project, inbox): (&ProjectName, &InboxName),
        now: Now,
    ) -> Option<HeldBack> {
        let session = self.limited(state, project, inbox)?;
        let pending = state.inboxes.get(project, inbox)?.offerable();
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
        let item = state.inboxes.get(project, inbox)?.get(id);
        let item = item.filter(|it| {
            it.delivery().emitted.is_none() && self.would_wake((project, inbox), it)
        })?;
        let session = self.limited(state, project, inbox)?;
        let (until, limit) = self
            .check(state, (project, &session), item, now.mono)
            .err()?;
        let until = wall(until, now);
        let limit = limit.shown(|key| state.sessions.shown_name(project, key).parse().ok());
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

    pub(super) fn waiter_at(&self, project: &ProjectName, inbox: &InboxName) -> Option<&Waiter> {
        let id = self.slot(project, inbox)?.waiter?;
        self.parked.get(&id).filter(|it| it.is_connected())
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
            InboxName::PRIMARY => state.sessions.primary(project)?,
            _ => inbox,
        };
        state.sessions.get(project, session)?.info()?;
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
pub(super) fn wall(at: Instant, now: Now) -> Timestamp {
    let ahead = at.saturating_duration_since(now.mono).as_millis();
    now.wall.plus_millis(ahead.try_into().unwrap_or(i64::MAX))
}
