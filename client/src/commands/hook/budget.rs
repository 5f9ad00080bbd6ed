//! How long a hook may take.

use std::time::{Duration, Instant};

/// From the payload's last byte to the end of the process.
const ALL: Duration = Duration::from_millis(200);

/// When an answer must be there, so that what must not be lost can still be kept.
const ANSWER_BY: Duration = Duration::from_millis(175);

/// How long the rest of an answer may take at least: it was written at once, also after a hold.
const BODY: Duration = Duration::from_millis(25);

/// Until when there is time for the disk.
const SYNC_UNTIL: Duration = Duration::from_millis(150);

/// How long the hub may hold a permission request for somebody to answer it.
pub(super) const LONGEST_HOLD: Duration = Duration::from_secs(65);

/// The time of one hook.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    started: Instant,
}

impl Budget {
    pub(super) fn starting_now() -> Self {
        Self {
            started: Instant::now(),
        }
    }

    /// How long the answer's head may take.
    pub(super) fn until_answered(&self) -> Duration {
        ANSWER_BY.saturating_sub(self.started.elapsed())
    }

    /// How long the rest of an answer may take.
    pub(super) fn after_answer(&self) -> Duration {
        self.left().max(BODY)
    }

    /// What is left of it all.
    pub(super) fn left(&self) -> Duration {
        ALL.saturating_sub(self.started.elapsed())
    }

    /// Whether there is time to wait for the disk.
    pub(super) fn allows_sync(&self) -> bool {
        self.started.elapsed() < SYNC_UNTIL
    }
}
