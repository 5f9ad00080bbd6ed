//! What happens in a step. Each seed has its own shares, so that some have long queues, others many crashes or few readers.

use crate::rng::Rng;

/// What happens in a step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    Publish,
    PublishAgain,
    Wait,
    UseBatch,
    HangUp,
    Manage,
    Hook,
    Answer,
    Write,
    Pass,
    Archive,
    Copy,
    Mark,
    Fault,
}

/// The usual shares, in percent.
const USUAL: [(Act, u64); 14] = [
    (Act::Publish, 20),
    (Act::PublishAgain, 2),
    (Act::Wait, 12),
    (Act::UseBatch, 10),
    (Act::HangUp, 2),
    (Act::Manage, 4),
    (Act::Hook, 6),
    (Act::Answer, 3),
    (Act::Write, 20),
    (Act::Pass, 10),
    (Act::Archive, 4),
    (Act::Copy, 3),
    (Act::Mark, 1),
    (Act::Fault, 3),
];

/// How often each thing happens, compared with the others.
#[derive(Debug)]
pub(super) struct Shares([(Act, u64); 14]);

impl Shares {
    /// Shares that a seed decides: a third, the usual one or three times as much of each.
    pub(super) fn random(rng: &mut Rng) -> Self {
        Self(USUAL.map(|(act, share)| (act, share * rng.pick(&[1, 3, 3, 9]))))
    }

    /// Returns what happens next.
    pub(super) fn pick(&self, rng: &mut Rng) -> Act {
        let mut at = rng.below(self.0.iter().map(|(_, share)| share).sum());
        let drawn = self.0.iter().find(|(_, share)| {
            let is_it = at < *share;
            at = at.saturating_sub(*share);
            is_it
        });
        drawn.expect("it is below the sum").0
    }
}
