//! The clock: one task that sleeps until the next deadline and then submits a tick to the writer thread.

use std::time::{Duration, Instant};

use hub_core::command::Command;
use hub_core::time::boot_millis;
use hub_protocol::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::Hub;

/// The longest time between two comparisons of the clocks, because timers stop while the machine is suspended.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// The pause before a tick that the writer could not accept is submitted again.
const RETRY: Duration = Duration::from_secs(1);
/// A smaller difference of wall and boot clock is drift; a larger one means that the wall clock was set.
const JUMP_MS: i64 = 60_000;

/// Submits a tick at each deadline, and every jump of the wall clock, until `shutdown`.
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

/// Returns the wall clock's lead over the boot clock, which includes suspension, in milliseconds.
fn wall_minus_boot() -> i64 {
    Timestamp::now().as_millis() - boot_millis()
}
