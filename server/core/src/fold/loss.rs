//! Losses: notifications that were evicted unread, and records that cannot be read any more. The hub reports them until the
//! person has settled its question about them.

use hub_protocol::{InboxName, Kind, QuestionState, Seq};
use serde::{Deserialize, Serialize};

use super::question::Question;
use super::questions::Questions;
use super::ranges::Ranges;
use crate::record::{QuestionSettled, Route, SettleReason};

/// The beginning of the key of the hub's question about unreadable records; their ranges follow.
const UNREADABLE: &str = "hub:unreadable ";

/// Everything that was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread: Option<Loss>,
    /// The unreadable records that the hub's questions have told.
    #[serde(default)]
    told: Ranges,
}

/// Notifications that were evicted although they were pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// How many.
    pub count: u64,
    /// The first one.
    pub from: Seq,
    /// The last one.
    pub to: Seq,
    /// How many of them the hub's open question tells.
    told: u64,
}

impl Loss {
    /// The key of the hub's question.
    pub const KEY: &str = "hub:lost";

    /// Returns the key of the hub's question about unreadable records.
    pub fn key_of(ranges: &[(Seq, Seq)]) -> String {
        let ranges = ranges.iter().map(|(from, to)| format!("{from}-{to}"));
        format!("{UNREADABLE}{}", ranges.collect::<Vec<_>>().join(","))
    }
}

impl Losses {
    /// Returns the notifications that were lost unread and that the person has not taken note of.
    pub fn unread(&self) -> Option<Loss> {
        self.unread
    }

    /// Returns [`Losses::unread`], if the hub's question does not tell all of it yet.
    pub fn untold(&self) -> Option<Loss> {
        self.unread.filter(|it| it.told < it.count)
    }

    /// Returns the parts of a range of unreadable records that no question of the hub has told.
    pub fn untold_part(&self, (from, to): (Seq, Seq)) -> Vec<(Seq, Seq)> {
        self.told.parts(from, to, false)
    }

    pub(super) fn note(&mut self, id: Seq, how: SettleReason) {
        if how != SettleReason::Evicted {
            return;
        }
        let loss = self.unread.get_or_insert(Loss {
            count: 0,
            from: id,
            to: id,
            told: 0,
        });
        loss.count += 1;
        (loss.from, loss.to) = (loss.from.min(id), loss.to.max(id));
    }

    /// Notes what a question of the hub tells.
    pub(super) fn note_told(&mut self, route: &Route) {
        let Some(key) = route.key.as_deref() else {
            return;
        };
        if route.kind != Kind::Question || route.from.as_str() != InboxName::HUB {
            return;
        }
        if let Some(loss) = self.unread.as_mut().filter(|_| key == Loss::KEY) {
            loss.told = loss.count;
        }
        for (from, to) in unreadable(key) {
            self.told.set(from, to, true);
        }
    }

    /// Forgets the loss that a question has told, if the record settles it for good.
    pub(super) fn note_settled(&mut self, question: Option<&Question>, it: &QuestionSettled) {
        let replaced = matches!(it.state, QuestionState::Open | QuestionState::Superseded);
        if replaced || !question.is_some_and(is_about_unread) {
            return;
        }
        self.unread = self.unread.and_then(|loss| {
            let count = loss.count - loss.told;
            (count > 0).then_some(Loss {
                count,
                told: 0,
                ..loss
            })
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Forgets what is no longer in the log.
    pub(super) fn trim(&mut self, below: Seq) {
        self.told.trim(below, &[]);
    }
}

/// Returns the ranges in the key of the hub's question about unreadable records.
fn unreadable(key: &str) -> impl Iterator<Item = (Seq, Seq)> {
    let ranges = key.strip_prefix(UNREADABLE).unwrap_or_default().split(',');
    let ranges = ranges.filter_map(|range| {
        let (from, to) = range.split_once('-')?;
        Some((from.parse().ok()?, to.parse().ok()?))
    });
    ranges.filter(|(from, to)| from <= to)
}

fn is_about_unread(question: &Question) -> bool {
    question.is_of_hub() && question.key.as_deref() == Some(Loss::KEY)
}

impl Questions {
    /// Whether an open question of the hub tells of unreadable records.
    pub fn has_unreadable(&self) -> bool {
        let of_hub = self.open().filter(|(_, it)| it.is_of_hub());
        let mut keys = of_hub.filter_map(|(_, it)| it.key.as_deref());
        keys.any(|key| unreadable(key).next().is_some())
    }
}
