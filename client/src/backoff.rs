//! How long to wait before the next attempt.

use std::time::Duration;

/// Pauses that double.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Pauses from `first` to `longest`.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self {
            next: first,
            first,
            longest,
        }
    }

    /// For a hub on this machine: 50 ms to a second.
    pub(crate) fn local() -> Self {
        Self::new(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// For a waiter that nobody watches, and that nobody may notice: 250 ms to 5 s.
    pub(crate) fn patient() -> Self {
        Self::new(Duration::from_millis(250), Duration::from_secs(5))
    }

    /// It worked: begin again with the first.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// Waits out the next pause.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(self.longest);
    }
}
