//! The clocks of one machine.

use std::time::{Duration, Instant};

use hub_core::time::Now;
use hub_protocol::Timestamp;

/// The time on all clocks, which only the world moves.
#[derive(Debug, Clone)]
pub(crate) struct Clocks {
    /// The monotonic clock at the beginning. Only differences to it are ever seen.
    begin: Instant,
    /// Milliseconds on the monotonic clock, which stops while the machine sleeps.
    pub(crate) mono_ms: u64,
    /// Milliseconds on the boot clock, which never stops and never jumps: the true time.
    pub(crate) boot_ms: i64,
    /// Milliseconds on the wall clock, which jumps.
    pub(crate) wall_ms: i64,
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            begin: Instant::now(),
            mono_ms: 0,
            boot_ms: 0,
            wall_ms: 1_800_000_000_000,
        }
    }
}

impl Clocks {
    /// The time at which the writer works.
    pub(crate) fn now(&self) -> Now {
        Now {
            wall: self.wall(),
            mono: self.mono(),
            boot_ms: self.boot_ms,
        }
    }

    /// Returns the wall clock's lead over the boot clock, in milliseconds.
    pub(crate) fn lead_ms(&self) -> i64 {
        self.wall_ms - self.boot_ms
    }

    /// The wall clock.
    pub(crate) fn wall(&self) -> Timestamp {
        Timestamp::from_millis(self.wall_ms)
    }

    /// The monotonic clock.
    pub(crate) fn mono(&self) -> Instant {
        self.begin + Duration::from_millis(self.mono_ms)
    }

    /// Returns the milliseconds on the monotonic clock at `at`, rounded up.
    pub(crate) fn mono_ms_of(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.begin);
        u64::try_from(since.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, ms: u64) {
        self.mono_ms += ms;
        self.sleep(ms);
    }

    /// Lets the machine sleep: the monotonic clock stands still.
    pub(crate) fn sleep(&mut self, ms: u64) {
        let ms = ms.cast_signed();
        (self.boot_ms, self.wall_ms) = (self.boot_ms + ms, self.wall_ms + ms);
    }
}
