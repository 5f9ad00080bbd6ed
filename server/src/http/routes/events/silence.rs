//! The time since a stream last sent data.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A heartbeat timer. It is re-armed only when it fires, not for each write, because writes may be frequent.
pub(super) struct Silence {
    limit: Duration,
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Silence {
    /// A timer that fires once `limit` has passed without data.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            since: Instant::now(),
            timer: Box::pin(tokio::time::sleep(limit)),
        }
    }

    /// Records that data was sent now.
    pub(super) fn end(&mut self) {
        self.end_at(Instant::now());
    }

    /// Records that data was sent at `at`.
    pub(super) fn end_at(&mut self, at: Instant) {
        self.since = at;
    }

    /// Completes after `limit` without data. Cancel-safe.
    pub(super) async fn is_over(&mut self) {
        loop {
            self.timer.as_mut().await;
            let over = self.since + self.limit;
            if over <= Instant::now() {
                return;
            }
            self.timer.as_mut().reset(over);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn it_is_over_after_the_limit_without_data() {
        let begun = Instant::now();
        let mut silence = Silence::new(LIMIT);
        silence.is_over().await;
        assert!(begun.elapsed() >= LIMIT);
    }

    #[tokio::test]
    async fn each_write_restarts_the_silence() {
        let mut silence = Silence::new(LIMIT);
        for _ in 0..3 {
            let _ = tokio::time::timeout(LIMIT / 2, silence.is_over()).await;
            silence.end();
        }
        let said = Instant::now();
        silence.is_over().await;
        assert!(said.elapsed() >= LIMIT / 2);
        silence.end();
        let said = Instant::now();
        silence.is_over().await;
        assert!(said.elapsed() >= LIMIT / 2);
    }
}
