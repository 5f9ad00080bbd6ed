//! The things that a client holds while it is connected: a slot for a stream, a page with the focus.

use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Duration, Instant, sleep};

use super::Hub;

/// For how long no dashboard may be open while one is expected, and how often that is looked at.
const DASHBOARD_RETURN: Duration = Duration::from_secs(10);
const DASHBOARD_LOOK: Duration = Duration::from_millis(500);

/// A slot for a long-lived connection. There are fewer slots than connections, so that publishing and acknowledging
/// always have room.
pub struct StreamPermit {
    #[allow(dead_code)] // held until the stream ends
    pub(super) slot: OwnedSemaphorePermit,
    #[allow(dead_code)] // held until the stream ends
    pub(super) dashboard: Option<Arc<()>>,
    #[allow(dead_code)] // held until the stream ends
    pub(super) focus: Option<Focus>,
    /// Counts the streams that are read for their events.
    pub(super) open: Option<Gauge>,
}

/// A page of a dashboard that has the focus. Drop order matters: remove the page first, then notify the watchers of
/// presence.
pub(super) struct Focus {
    #[allow(dead_code)] // held until the page loses the focus
    pub(super) page: Arc<()>,
    #[allow(dead_code)] // held until the page loses the focus
    pub(super) leaving: Leaving,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            open.dec();
        }
    }
}

impl Hub {
    /// Returns once no dashboard has been open for as long as a page takes to load again, or to find a hub that has just
    /// started.
    pub async fn without_dashboard(&self) {
        let mut seen = Instant::now();
        while seen.elapsed() < DASHBOARD_RETURN {
            sleep(DASHBOARD_LOOK).await;
            if self.has_dashboard() {
                seen = Instant::now();
            }
        }
    }
}

/// Notifies the watchers of presence when it is dropped, so that they also notice a broken connection.
pub(super) struct Leaving(pub(super) Option<watch::Sender<u64>>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(presence) = &self.0 {
            presence.send_modify(|version| *version += 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::memory_hub;

    #[tokio::test(start_paused = true)]
    async fn the_time_without_a_dashboard_begins_again_with_each_one() {
        let hub = memory_hub();
        let began = Instant::now();
        let open = hub.dashboard_permit().unwrap();
        let close = async {
            sleep(DASHBOARD_RETURN * 3).await;
            drop(open);
        };
        tokio::join!(close, hub.without_dashboard());
        assert!(began.elapsed() > DASHBOARD_RETURN * 3 + DASHBOARD_LOOK);
        hub.stop();
    }
}
