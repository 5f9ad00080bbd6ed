//! The time at which a command or a wait is handled.

use std::time::Instant;

use hub_protocol::Timestamp;

/// A moment on all clocks: the wall clock for timestamps, the monotonic one for durations, and the boot clock, by which a jump
/// of the wall clock is noticed.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// The wall clock.
    pub wall: Timestamp,
    /// The monotonic clock.
    pub mono: Instant,
    /// The boot clock, see [`boot_millis`].
    pub boot_ms: i64,
}

impl Now {
    /// Reads all clocks.
    pub fn read() -> Self {
        Self {
            wall: Timestamp::now(),
            mono: Instant::now(),
            boot_ms: boot_millis(),
        }
    }
}

/// The clocks of a machine that say when another hub may act.
pub trait Clock: Send + Sync {
    /// The boot clock, see [`boot_millis`].
    fn boot_ms(&self) -> i64;

    /// The wall clock.
    fn wall(&self) -> Timestamp;
}

/// The clocks of this machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn boot_ms(&self) -> i64 {
        boot_millis()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Returns the time since the machine started, in milliseconds; it includes suspension.
pub fn boot_millis() -> i64 {
    (hub_protocol::process::uptime_micros() / 1000).cast_signed()
}
