//! The time at which a command or a wait is handled.

use std::time::Instant;

use hub_protocol::Timestamp;

/// A moment on both clocks: the wall clock for timestamps, the monotonic one for durations.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// The wall clock.
    pub wall: Timestamp,
    /// The monotonic clock.
    pub mono: Instant,
}

impl Now {
    /// Reads both clocks.
    pub fn read() -> Self {
        Self {
            wall: Timestamp::now(),
            mono: Instant::now(),
        }
    }
}

/// Returns the time since the machine started, in milliseconds; it includes suspension.
pub fn boot_millis() -> i64 {
    (hub_protocol::process::uptime_micros() / 1000).cast_signed()
}
