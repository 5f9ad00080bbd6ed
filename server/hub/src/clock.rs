//! The clock: one task that sleeps until the next deadline and then submits a tick to the writer thread.

use std::time::Duration;

use hub_core::command::Command;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Hub;

/// The longest time between two ticks, because timers stop while the machine is suspended, and the writer notices a jump of the
/// wall clock when it works.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// The pause before a tick that the writer could not accept is submitted again.
const RETRY: Duration = Duration::from_secs(1);

/// Submits a tick at each deadline until `shutdown`.
pub async fn run(hub: Hub, shutdown: CancellationToken) {
    let mut due = hub.next_due();
    loop {
        let next = *due.borrow_and_update();
        let sleep = next.map_or(LONGEST_SLEEP, |at| {
            Instant::from_std(at)
                .saturating_duration_since(Instant::now())
                .min(LONGEST_SLEEP)
        });
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            changed = due.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(sleep) => {
                if hub.submit(Command::Tick).await.is_err() {
                    let _ = shutdown.run_until_cancelled(tokio::time::sleep(RETRY)).await;
                }
            }
        }
    }
}
