//! The things that a client holds while it is connected: a slot for a stream, a page with the focus.

use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, watch};

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

/// Notifies the watchers of presence when it is dropped, so that they also notice a broken connection.
pub(super) struct Leaving(pub(super) Option<watch::Sender<u64>>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(presence) = &self.0 {
            presence.send_modify(|version| *version += 1);
        }
    }
}
