//! How long a stream has said nothing.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// One timer for all events: it is set anew when it is over, not when something was said, which may be often.
pub(super) struct Silence {
    limit: Duration,
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Silence {
    /// A silence that begins now, and lasts for `limit` at most.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            since: Instant::now(),
            timer: Box::pin(tokio::time::sleep(limit)),
        }
    }

    /// Something was said.
    pub(super) fn end(&mut self) {
        self.end_at(Instant::now());
    }

    /// Something was said at that time.
    pub(super) fn end_at(&mut self, at: Instant) {
        self.since = at;
    }

    /// Waits until nothing was said for the limit. May be dropped and called again.
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
    async fn it_is_over_when_nothing_was_said_for_the_limit() {
        let begun = Instant::now();
        let mut silence = Silence::new(LIMIT);
        silence.is_over().await;
        assert!(begun.elapsed() >= LIMIT);
    }

    #[tokio::test]
    async fn it_begins_anew_with_what_is_said() {
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
