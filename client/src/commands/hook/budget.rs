//! The time limits of a hook.

use std::time::{Duration, Instant};

/// The time from the last byte of the payload to the end of the process. A hub answers in milliseconds, but on a busy
/// machine the processes wait for the processor, and an answer that comes too late tells the agent nothing.
const ALL: Duration = Duration::from_secs(1);

/// The same for the prompt of a wake. No person waits for that turn, and without the answer it would begin without the
/// notifications.
const OF_WAKE: Duration = Duration::from_secs(10);

/// The deadline for the answer's head, before the end. It leaves time to spool the hook.
const TO_SPOOL: Duration = Duration::from_millis(100);

/// The deadline for the hub to take earlier events.
const EARLIER_BY: Duration = Duration::from_millis(400);

/// The least time for the rest of an answer. The hub writes it at once, also after it has held the request.
const BODY: Duration = Duration::from_millis(50);

/// The deadline for a spool write to begin with a sync.
const SYNC_UNTIL: Duration = Duration::from_millis(700);

/// How long to wait while the hub holds a question or a permission request for an answer.
const LONGEST_HOLD: Duration = Duration::from_secs(3_605);

/// The remaining time of one hook.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    started: Instant,
    all: Duration,
}

impl Budget {
    pub(super) fn starting_now() -> Self {
        Self {
            started: Instant::now(),
            all: ALL,
        }
    }

    /// The same for the prompt of a wake.
    pub(super) fn of_wake(self) -> Self {
        let all = OF_WAKE;
        Self { all, ..self }
    }

    /// The same after a wait of this length for the agent itself, which does not count.
    pub(super) fn after(self, wait: Duration) -> Self {
        let started = self.started + wait;
        Self { started, ..self }
    }

    /// How long the answer's head may take from now.
    pub(super) fn until_answered(&self) -> Duration {
        self.left().saturating_sub(TO_SPOOL)
    }

    /// How long earlier events may take from now.
    pub(super) fn for_earlier(&self) -> Duration {
        EARLIER_BY.saturating_sub(self.started.elapsed())
    }

    /// How long the hub may go on to hold the hook.
    pub(super) fn while_held(&self) -> Duration {
        LONGEST_HOLD.saturating_sub(self.started.elapsed())
    }

    /// How long the rest of an answer may take from now.
    pub(super) fn after_answer(&self) -> Duration {
        self.left().max(BODY)
    }

    /// The time that is left in all.
    pub(super) fn left(&self) -> Duration {
        self.all.saturating_sub(self.started.elapsed())
    }

    /// Whether there is time for a sync to disk.
    pub(super) fn allows_sync(&self) -> bool {
        self.started.elapsed() < SYNC_UNTIL
    }
}
