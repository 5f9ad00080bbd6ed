//! Polling, for conditions without an event.

use std::time::{Duration, Instant};

/// Timeout for one step of a real agent on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Polls until `ready` returns a value; panics after [`PATIENCE`].
pub fn until<T>(what: &str, ready: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, ready).unwrap_or_else(|| panic!("still waiting until {what}"))
}

/// Polls until `ready` returns a value; `None` if it returns none in this time.
pub fn within<T>(time: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    let give_up = Instant::now() + time;
    loop {
        if let Some(answer) = ready() {
            return Some(answer);
        }
        if Instant::now() > give_up {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
