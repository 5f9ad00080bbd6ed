//! Web Push: tells the devices that want it what needs the person, while the dashboard is closed on them (RFC 8030).
//!
//! Each device has a task of its own, which follows the list of needs as an open page does. A push service gets a text that
//! only the device can read, and a number.

use std::collections::HashSet;

use hub_core::time::Now;
use hub_engine::Hub;
use hub_http::login::Devices;
use hub_rules::forward::poster::Poster;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

mod device;
mod encrypt;
mod message;
mod vapid;

pub use vapid::VapidKey;

use device::DeviceTask;

/// Pushes to the devices until `shutdown`.
pub async fn run(hub: Hub, devices: Devices, key: VapidKey, shutdown: CancellationToken) {
    let started = Now::read().wall;
    let mut changed = devices.subscriptions();
    let mut shared = None;
    let mut running = HashSet::new();
    let mut tasks = JoinSet::new();
    loop {
        for id in devices.subscribers(Now::read()) {
            shared = shared.or_else(poster);
            let Some(poster) = shared.clone().filter(|_| running.insert(id.clone())) else {
                continue;
            };
            let parts = (hub.clone(), devices.clone(), key.clone());
            let task = DeviceTask::new(parts, poster, &id, started);
            tasks.spawn(async move {
                task.run().await;
                id
            });
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            changed = changed.changed() => if changed.is_err() { return },
            // It may have subscribed again since.
            Some(Ok(id)) = tasks.join_next() => drop(running.remove(&id)),
        }
    }
}

/// A client for push services, if the system has root certificates.
fn poster() -> Option<Poster> {
    let made = Poster::new(true);
    made.inspect_err(|error| tracing::error!(%error, "no Web Push"))
        .ok()
}
