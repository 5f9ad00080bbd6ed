//! Wake latencies: the time from the arrival of a notification to its acknowledgement by the woken reader.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use hub_protocol::{InboxName, Seq, Timestamp};

use crate::time::Now;

/// The most wakes that are remembered: enough to draw a busy day, at a few bytes each.
const KEPT: usize = 1000;

/// A wake that its reader acknowledged or showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeTime {
    /// When the reader acknowledged it.
    pub at: Timestamp,
    /// The time from the arrival of the notification to the acknowledgement, in milliseconds.
    pub ms: u64,
}

/// Wakes that are not acknowledged yet, and the last ones that are.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    begun: HashMap<(InboxName, Seq), Instant>,
    ended: VecDeque<WakeTime>,
}

impl Latencies {
    /// Starts measuring: a waiter was given a notification that arrived at `since`.
    pub(super) fn begin(&mut self, inbox: &InboxName, id: Seq, since: Instant) {
        self.begun.insert((inbox.clone(), id), since);
    }

    /// Ends the measurement of notifications that a reader acknowledged.
    pub(super) fn end(&mut self, inbox: &InboxName, ids: &[Seq], now: Now) {
        if self.begun.is_empty() {
            return;
        }
        for id in ids {
            let Some(since) = self.begun.remove(&(inbox.clone(), *id)) else {
                continue;
            };
            let ms = now.mono.saturating_duration_since(since).as_millis();
            let ms = u64::try_from(ms).unwrap_or(u64::MAX);
            if self.ended.len() == KEPT {
                self.ended.pop_front();
            }
            self.ended.push_back(WakeTime { at: now.wall, ms });
        }
    }

    /// Discards the measurement of notifications that were not acknowledged.
    pub(super) fn forget(&mut self, inbox: &InboxName, ids: &[Seq]) {
        for id in ids {
            self.begun.remove(&(inbox.clone(), *id));
        }
    }

    /// Returns when each wake was acknowledged.
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        self.ended.iter_mut().map(|wake| &mut wake.at)
    }

    /// Returns the wakes acknowledged since `from`, oldest first, and whether older ones may have been dropped.
    pub(super) fn since(&self, from: Timestamp) -> (Vec<WakeTime>, bool) {
        let recent = self.ended.iter().filter(|wake| wake.at >= from);
        let recent: Vec<WakeTime> = recent.copied().collect();
        let more = recent.len() == KEPT;
        (recent, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> InboxName {
        "w1".parse().unwrap()
    }

    fn later(now: Now, ms: u16) -> Now {
        Now {
            boot_ms: now.boot_ms,
            wall: now.wall.plus_millis(ms.into()),
            mono: now.mono + std::time::Duration::from_millis(ms.into()),
        }
    }

    #[test]
    fn a_wake_lasts_from_the_notification_to_the_first_acknowledgement() {
        let (mut latencies, now) = (Latencies::default(), Now::read());
        latencies.begin(&name(), 7, now.mono);
        latencies.end(&name(), &[6, 7], later(now, 12));
        latencies.end(&name(), &[7], later(now, 99));
        let (wakes, more) = latencies.since(now.wall);
        let at = now.wall.plus_millis(12);
        assert_eq!((wakes, more), (vec![WakeTime { at, ms: 12 }], false));
        assert_eq!(latencies.since(later(now, 13).wall).0, []);
    }

    #[test]
    fn a_wake_without_an_acknowledgement_is_not_counted() {
        let (mut latencies, now) = (Latencies::default(), Now::read());
        latencies.begin(&name(), 7, now.mono);
        latencies.forget(&name(), &[7]);
        latencies.end(&name(), &[7], later(now, 12));
        assert_eq!(latencies.since(now.wall).0, []);
    }

    #[test]
    fn the_number_of_remembered_wakes_is_capped_and_reported() {
        let (mut latencies, now) = (Latencies::default(), Now::read());
        for id in 0..=KEPT as Seq {
            latencies.begin(&name(), id, now.mono);
            latencies.end(&name(), &[id], later(now, 1));
        }
        let (wakes, more) = latencies.since(now.wall);
        assert_eq!((wakes.len(), more), (KEPT, true));
    }
}
