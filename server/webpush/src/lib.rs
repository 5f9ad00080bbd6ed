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

/// Pushes to the devices until `shutdown`. A need that begins after this call is new to them, also if it begins before the
/// future is polled.
pub fn run(
    hub: Hub,
    devices: Devices,
    key: VapidKey,
    shutdown: CancellationToken,
) -> impl Future<Output = ()> {
    let started = Now::read().wall;
    async move {
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
}

/// A client for push services, if the system has root certificates.
fn poster() -> Option<Poster> {
    let made = Poster::new(true);
    made.inspect_err(|error| tracing::error!(%error, "no Web Push"))
        .ok()
}

#[cfg(test)]
mod tests {
    use hub_core::command::Command;
    use hub_engine::testing::{held_question, memory_hub};
    use hub_protocol::{Alert, Preferences};
    use serde_json::json;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;

    /// The browser's keys of the example of RFC 8291.
    const P256DH: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    /// Stores a device that has subscribed at this port.
    fn subscriber(dir: &std::path::Path, port: u16) -> Devices {
        let (bits, from, to) = (
            "0".repeat(64),
            "2026-01-01T00:00:00Z",
            "2100-01-01T00:00:00Z",
        );
        let push = json!({
            "endpoint": format!("http://127.0.0.1:{port}/"),
            "keys": { "p256dh": P256DH, "auth": AUTH },
            "since": from,
        });
        let device = json!({
            "id": "d", "name": "Browser", "created_at": from, "used_at": from, "expires_at": to, "host": "localhost",
            "token_hash": bits, "hub_key": bits, "browser_key_hash": bits, "covered": bits, "push": push,
        });
        std::fs::write(dir.join("devices.json"), json!([device]).to_string()).unwrap();
        Devices::open(dir).unwrap()
    }

    #[tokio::test]
    async fn a_need_that_begins_before_the_first_poll_is_pushed() {
        let dir = tempfile::tempdir().unwrap();
        let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let devices = subscriber(dir.path(), service.local_addr().unwrap().port());
        let (key, hub) = (VapidKey::open(dir.path()).unwrap(), memory_hub());
        let preferences = Preferences {
            notify: [Alert::NeedsYou].into(),
            ..Preferences::default()
        };
        hub.submit(Command::SetPreferences(preferences.into()))
            .await
            .unwrap();
        let pushes = run(hub.clone(), devices, key, CancellationToken::new());
        hub.submit(held_question()).await.unwrap();
        let asked = Now::read().wall;
        while Now::read().wall == asked {}
        tokio::spawn(pushes);
        let (mut connection, _) = service.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.windows(8).any(|it| it == b"topic: 2") {
            assert_ne!(connection.read_buf(&mut request).await.unwrap(), 0);
        }
        hub.stop();
    }
}
