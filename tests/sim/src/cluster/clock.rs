//! The clocks of one machine, which differ from those of the others.

use std::fmt;

use hub_core::time::{Clock, Now};
use hub_protocol::Timestamp;
use tokio::time::Instant;

use crate::rng::Rng;

/// The true time at which the world begins, in milliseconds.
const BEGIN_MS: i64 = 1_800_000_000_000;
/// The leads of wall clocks, in milliseconds.
const SKEWS_MS: [i64; 8] = [0, 0, 0, 30, -400, 20_000, -90_000, 1_200_000];
/// By how many parts of a million a clock may go fast or slow: far more than a real one does.
const DRIFT: u64 = 30_000;

/// The clocks of one machine.
#[derive(Debug, Clone)]
pub(crate) struct SimClock {
    begin: Instant,
    skew_ms: i64,
    drift: i64,
    /// The boot clock at the beginning of the world.
    boot_ms: i64,
}

impl SimClock {
    /// Clocks that a seed decides.
    pub(crate) fn random(rng: &mut Rng, begin: Instant) -> Self {
        Self {
            begin,
            skew_ms: *rng.pick(&SKEWS_MS),
            drift: rng.below(2 * DRIFT + 1).cast_signed() - DRIFT.cast_signed(),
            boot_ms: boot_of(rng),
        }
    }

    /// The clocks after the machine has started again.
    pub(crate) fn rebooted(&self, rng: &mut Rng) -> Self {
        Self {
            boot_ms: boot_of(rng),
            ..self.clone()
        }
    }

    /// The time at which the writer works.
    pub(crate) fn now(&self) -> Now {
        Now {
            wall: self.wall(),
            mono: Instant::now().into_std(),
            boot_ms: self.boot_ms(),
        }
    }

    fn passed_ms(&self) -> i64 {
        let passed = self.begin.elapsed().as_millis();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        passed + passed * self.drift / 1_000_000
    }
}

fn boot_of(rng: &mut Rng) -> i64 {
    rng.between(10_000, 1_000_000).cast_signed()
}

impl fmt::Display for SimClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (skew, drift) = (self.skew_ms, self.drift);
        write!(f, "its clock ahead by {skew} ms, and fast by {drift} ppm")
    }
}

impl Clock for SimClock {
    fn boot_ms(&self) -> i64 {
        self.boot_ms + self.passed_ms()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(BEGIN_MS + self.skew_ms + self.passed_ms())
    }
}
