//! The timer of a stream's heartbeat: it fires after silence.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A heartbeat timer. It is re-armed only when it fires, not for each write, because writes may be frequent.
pub(super) struct HeartbeatTimer {
    limit: Duration,
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

impl HeartbeatTimer {
    /// A timer that fires once `limit` has passed without data.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            since: Instant::now(),
            timer: Box::pin(tokio::time::sleep(limit)),
        }
    }

    /// Records that data was sent now.
    pub(super) fn restart(&mut self) {
        self.restart_at(Instant::now());
    }

    /// Records that data was sent at `at`.
    pub(super) fn restart_at(&mut self, at: Instant) {
        self.since = at;
    }

    /// Completes after `limit` without data. Cancel-safe.
    pub(super) async fn is_due(&mut self) {
        loop {
            self.timer.as_mut().await;
            let end = self.since + self.limit;
            if end <= Instant::now() {
                return;
            }
            self.timer.as_mut().reset(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn each_write_restarts_the_timer() {
        let mut timer = HeartbeatTimer::new(LIMIT);
        for _ in 0..3 {
            let _ = tokio::time::timeout(LIMIT / 2, timer.is_due()).await;
            timer.restart();
        }
        let wrote = Instant::now();
        timer.is_due().await;
        assert!(wrote.elapsed() >= LIMIT / 2);
        timer.restart();
        let wrote = Instant::now();
        timer.is_due().await;
        assert!(wrote.elapsed() >= LIMIT / 2);
    }
}
