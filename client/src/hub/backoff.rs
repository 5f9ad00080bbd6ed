//! Pauses between attempts.

use std::time::Duration;

/// Pauses that double from the first to the longest.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Returns pauses that begin with `first` and grow to `longest`.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self {
            next: first,
            first,
            longest,
        }
    }

    /// Pauses for a hub on this machine: 50 ms to 1 s.
    pub(crate) fn local() -> Self {
        Self::new(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// Pauses for a waiter in the background, which must use little processor time: 250 ms to 5 s.
    pub(crate) fn patient() -> Self {
        Self::new(Duration::from_millis(250), Duration::from_secs(5))
    }

    /// Begins again with the first pause; called after a success.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// Sleeps for the next pause.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(self.longest);
    }
}
