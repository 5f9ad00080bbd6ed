//! The clock is a writer: one task sleeps until something is due and says so to the writer thread.

use std::time::{Duration, Instant};

use hub_protocol::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::command::Command;
use crate::hub::Hub;

/// A moment, by both clocks: the wall's for what is said, the monotonic for what is measured.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// The wall clock.
    pub wall: Timestamp,
    /// The monotonic clock.
    pub mono: Instant,
}

impl Now {
    /// This moment.
    pub fn read() -> Self {
        Self {
            wall: Timestamp::now(),
            mono: Instant::now(),
        }
    }
}

/// Clocks are compared at least this often: timers stand still while the machine is suspended.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// How long to wait before a writer that could not listen is told again.
const RETRY: Duration = Duration::from_secs(1);
/// Below this, wall and boot clock only drift; above, somebody moved one of them.
const JUMP_MS: i64 = 60_000;

/// Sleeps until the next deadline, over and over, until `shutdown`.
pub async fn run(hub: Hub, shutdown: CancellationToken) {
    let mut due = hub.next_due();
    let mut offset = wall_minus_boot();
    loop {
        let next = *due.borrow_and_update();
        let sleep = next.map_or(LONGEST_SLEEP, |at| {
            at.saturating_duration_since(Instant::now())
                .min(LONGEST_SLEEP)
        });
        tokio::select! {
            () = shutdown.cancelled() => return,
            changed = due.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(sleep) => {
                let moved = wall_minus_boot() - offset;
                if moved.abs() > JUMP_MS {
                    tracing::warn!(moved_ms = moved, "the wall clock jumped; pending deadlines move with it");
                    offset += moved;
                    let _ = hub.submit(Command::ClockMoved { delta_ms: moved }).await;
                }
                if hub.submit(Command::Tick).await.is_err() {
                    let _ = shutdown.run_until_cancelled(tokio::time::sleep(RETRY)).await;
                }
            }
        }
    }
}

/// The wall clock's lead over the clock that counts from boot, suspension included, in milliseconds.
fn wall_minus_boot() -> i64 {
    Timestamp::now().as_millis() - boot_millis()
}

fn boot_millis() -> i64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}
