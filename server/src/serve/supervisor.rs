//! The service manager that started the hub, if one did: it learns when the hub is ready, that it still works, and that
//! it stops (`sd_notify(3)`).

use std::time::Duration;

use hub_core::command::Command;
use hub_engine::Hub;
use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

/// Reports that the hub accepts connections.
pub(super) fn ready(port: u16) {
    let status = format!("listening on http://127.0.0.1:{port}");
    report(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// Reports that the hub stops.
pub(super) fn stopping() {
    report(&[NotifyState::Stopping]);
}

/// Feeds the watchdog until `shutdown`, each time after the writer thread has decided a command. A writer that hangs is
/// therefore restarted too.
pub(super) async fn watchdog(hub: Hub, shutdown: CancellationToken) {
    let Some(limit) = sd_notify::watchdog_enabled() else {
        return;
    };
    let pause = (limit / 3).max(Duration::from_millis(1));
    loop {
        // A full queue or disk is no reason for a restart: the writer has refused the command itself.
        let _ = hub.submit(Command::Tick).await;
        report(&[NotifyState::Watchdog]);
        let slept = shutdown.run_until_cancelled(tokio::time::sleep(pause));
        if slept.await.is_none() {
            return;
        }
    }
}

fn report(state: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}
