//! Waiting for what has no event of its own.

use std::time::{Duration, Instant};

/// How long a real agent may take for one step, on a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again until there is an answer; panics after [`PATIENCE`].
pub fn until<T>(what: &str, ready: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, ready).unwrap_or_else(|| panic!("still waiting until {what}"))
}

/// Asks again until there is an answer; `None` if there is none in this time.
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
