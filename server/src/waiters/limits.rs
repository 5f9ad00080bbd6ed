//! Wake limits: how often an agent is woken by one sender and in all. A limit refuses no notification: it stays pending
//! until the next wake.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

use hub_protocol::InboxName;

use crate::fold::WakeClass;

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

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sender(WakeClass::Session(name), most) => {
                write!(f, "{most} wakes a minute by {name}")
            }
            Self::Sender(WakeClass::Worker, most) => {
                write!(f, "{most} wakes a minute by its workers")
            }
            Self::Sender(_, most) => {
                write!(f, "{most} wakes a minute by senders that are no sessions")
            }
            Self::Hour(most) => write!(f, "{most} wakes an hour"),
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
            WakeClass::Answer => return Ok(()),
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
            WakeClass::Answer => return,
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
