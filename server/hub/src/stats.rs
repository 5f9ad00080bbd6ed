//! Statistics of the log's tail: a separate fold over records, without clock or I/O.

use std::collections::BTreeMap;

use hub_core::record::{Record, kinds};
use hub_protocol::{Kind, QuestionState, Seq, Timestamp};
use serde::Serialize;

pub mod wakes;

const MINUTE_MS: i64 = 60_000;

/// The counts of a window of whole minutes.
#[derive(Debug)]
pub struct Tally {
    from: Timestamp,
    minutes: Vec<BTreeMap<Kind, u64>>,
    answered: Vec<(Seq, Timestamp)>,
}

/// The notifications of one minute, counted by type.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Minute {
    /// When the minute begins.
    pub at: Timestamp,
    /// The number of notifications by type; a type without any is absent.
    pub counts: BTreeMap<Kind, u64>,
}

/// A distribution of durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The number of durations.
    pub count: usize,
    /// The median in milliseconds; `None` if there are no durations.
    pub median_ms: Option<u64>,
    /// The 90th percentile in milliseconds; `None` if there are no durations.
    pub p90_ms: Option<u64>,
}

impl Tally {
    /// An empty tally of `minutes` minutes; the last one contains `now`.
    pub fn new(now: Timestamp, minutes: usize) -> Self {
        let this_minute = now.as_millis() - now.as_millis() % MINUTE_MS;
        let before = i64::try_from(minutes.saturating_sub(1)).unwrap_or(0);
        Self {
            from: Timestamp::from_millis(this_minute - before * MINUTE_MS),
            minutes: vec![BTreeMap::new(); minutes],
            answered: Vec::new(),
        }
    }

    /// Returns when the first minute begins.
    pub fn from(&self) -> Timestamp {
        self.from
    }

    /// Whether records of this kind byte are counted.
    pub fn counts(kind: u8) -> bool {
        matches!(kind, kinds::NOTIFIED | kinds::QUESTION_SETTLED)
    }

    /// Counts a record. Notifications and answers outside the window are ignored.
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Notified(it) => {
                let since = it.route.ts.as_millis() - self.from.as_millis();
                let minute = usize::try_from(since.div_euclid(MINUTE_MS)).ok();
                if let Some(counts) = minute.and_then(|minute| self.minutes.get_mut(minute)) {
                    *counts.entry(it.route.kind).or_default() += 1;
                }
            }
            Record::QuestionSettled(it)
                if it.state == QuestionState::Answered && it.at >= self.from =>
            {
                self.answered.push((it.id, it.at));
            }
            _ => {}
        }
    }

    /// Returns every minute of the window, oldest first.
    pub fn minutes(&self) -> Vec<Minute> {
        let starts = (0..).map(|n| self.from.plus_millis(n * MINUTE_MS));
        starts
            .zip(&self.minutes)
            .map(|(at, counts)| Minute {
                at,
                counts: counts.clone(),
            })
            .collect()
    }

    /// Returns the answered questions, each with the time of its answer.
    pub fn answered(&self) -> &[(Seq, Timestamp)] {
        &self.answered
    }
}

impl Spread {
    /// Computes the distribution of durations in milliseconds, by nearest rank.
    pub fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let rank = |tenths: usize| {
            let rank = (times.len() * tenths).div_ceil(10);
            times.get(rank.checked_sub(1)?).copied()
        };
        Self {
            count: times.len(),
            median_ms: rank(5),
            p90_ms: rank(9),
        }
    }
}

#[cfg(test)]
mod tests {
    use hub_core::record::{Notified, QuestionSettled};
    use hub_core::testing::route;

    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-11-21T{text}Z").parse().unwrap()
    }

    fn said(kind: Kind, ts: &str) -> Record {
        let (route, json) = (route("w1", kind, at(ts)), "{}".into());
        Record::Notified(Notified { route, json })
    }

    fn settled(id: Seq, state: QuestionState, ts: &str) -> Record {
        Record::QuestionSettled(QuestionSettled {
            id,
            state,
            by: None,
            answer: None,
            at: at(ts),
        })
    }

    fn tally(records: &[Record]) -> Tally {
        let mut tally = Tally::new(at("12:02:30"), 3);
        for record in records {
            tally.take(record);
        }
        tally
    }

    #[test]
    fn the_tally_lists_every_minute_with_its_counts_by_type() {
        let tally = tally(&[
            said(Kind::Error, "11:59:59.999"),
            said(Kind::Error, "12:00:00"),
            said(Kind::Complete, "12:00:59.999"),
            said(Kind::Error, "12:00:30"),
            said(Kind::Question, "12:02:30"),
            said(Kind::Question, "12:03:00"),
        ]);
        let expected = serde_json::json!([
            { "at": "2026-11-21T12:00:00.000Z", "counts": { "complete": 1, "error": 2 } },
            { "at": "2026-11-21T12:01:00.000Z", "counts": {} },
            { "at": "2026-11-21T12:02:00.000Z", "counts": { "question": 1 } },
        ]);
        let minutes = serde_json::to_value(tally.minutes()).unwrap();
        assert_eq!(minutes, expected);
    }

    #[test]
    fn the_tally_lists_only_questions_answered_in_its_window() {
        let tally = tally(&[
            settled(1, QuestionState::Answered, "11:59:00"),
            settled(2, QuestionState::Withdrawn, "12:01:00"),
            settled(3, QuestionState::Answered, "12:01:00"),
        ]);
        assert_eq!(tally.answered(), [(3, at("12:01:00"))]);
    }

    #[test]
    fn percentiles_are_durations_of_the_sample() {
        let of = |times: &[u64]| {
            let spread = Spread::of(times.to_vec());
            (spread.count, spread.median_ms, spread.p90_ms)
        };
        assert_eq!(of(&[]), (0, None, None));
        assert_eq!(of(&[7]), (1, Some(7), Some(7)));
        assert_eq!(of(&[9, 1]), (2, Some(1), Some(9)));
        assert_eq!(of(&[5, 1, 4, 2, 3]), (5, Some(3), Some(5)));
        let many: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(of(&many), (100, Some(50), Some(90)));
    }
}
