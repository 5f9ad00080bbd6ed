//! The rules bridge: it reports sessions that stay in a phase, and starts the programs of firings. Everything else that a
//! rule does is part of the fold. Only the active hub of a cluster does either.

use hub_engine::Hub;
use tokio_util::sync::CancellationToken;

mod program;
mod runs;
mod stays;

/// Records the rules about sessions. Before the sockets open, so that these rules count for each later report.
pub async fn begin(hub: &Hub) {
    stays::begin(hub).await;
}

/// Serves the rules until `shutdown`.
pub async fn run(hub: Hub, shutdown: CancellationToken) {
    tokio::join!(
        stays::watch(&hub, &shutdown),
        runs::start_all(&hub, &shutdown)
    );
}
