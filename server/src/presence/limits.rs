//! Wake limits: an agent is woken so often by one sender, and so often in all. Nothing is refused for it: what comes
//! in between waits, pending, for the next wake.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use hub_protocol::{InboxName, Kind, Priority};

use crate::state::Item;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// How often an agent session may be woken.
#[derive(Debug, Clone, Copy)]
pub struct WakeLimits {
    /// By one sender, in a minute.
    pub per_sender_per_minute: usize,
    /// In all, in an hour.
    pub per_hour: usize,
}

/// The wakes of one agent session in the last hour.
#[derive(Debug, Default)]
pub(super) struct WakeLog {
    all: VecDeque<Instant>,
    by_sender: HashMap<InboxName, VecDeque<Instant>>,
}

impl WakeLog {
    /// Counts a wake by `item`, or says when it may be tried again.
    pub(super) fn admit(
        &mut self,
        limits: &WakeLimits,
        item: &Item,
        now: Instant,
    ) -> Result<(), Instant> {
        self.forget(now);
        if !passes(item) {
            let sender = self.by_sender.get(&item.from);
            let over_sender =
                sender.and_then(|wakes| over(wakes, limits.per_sender_per_minute, MINUTE, now));
            let over_all = over(&self.all, limits.per_hour, HOUR, now);
            if let Some(until) = over_sender.max(over_all) {
                return Err(until);
            }
        }
        self.all.push_back(now);
        self.by_sender
            .entry(item.from.clone())
            .or_default()
            .push_back(now);
        Ok(())
    }

    /// Whether nothing in it counts any more.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.all.is_empty()
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
        self.by_sender.retain(|_, wakes| {
            drop_older(wakes, MINUTE);
            !wakes.is_empty()
        });
    }
}

/// When the oldest of the last `limit` wakes is out of `span`, if the limit is reached.
fn over(wakes: &VecDeque<Instant>, limit: usize, span: Duration, now: Instant) -> Option<Instant> {
    let oldest = wakes.len().checked_sub(limit)?;
    Some(
        wakes
            .get(oldest)
            .map_or_else(|| now + span, |&at| at + span),
    )
}

fn passes(item: &Item) -> bool {
    item.priority == Priority::Urgent || matches!(item.kind, Kind::Question | Kind::Answer)
}
