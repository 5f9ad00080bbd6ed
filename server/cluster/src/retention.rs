//! Retention of the stream. When the active hub has trimmed the log, it stores a snapshot of the fold in NATS as the base of
//! new copies, and drops the commits that the base replaces.

use std::time::Duration;

use hub_protocol::Seq;

use super::Cluster;
use crate::nats::Nats;

/// How often the bound of the log is compared with the stream.
const PERIOD: Duration = Duration::from_secs(5);

/// Drops old commits while this hub is active.
pub(super) async fn run(cluster: &Cluster<impl Nats>) {
    let mut dropped = 0;
    loop {
        tokio::time::sleep(PERIOD).await;
        let trimmed = cluster.0.hub.read(|state, _| state.retention.below());
        let Ok(trimmed) = trimmed else { continue };
        let needed = cluster.0.nodes.oldest_head().map(|head| head + 1);
        let bound = needed.map_or(trimmed, |it| it.min(trimmed));
        if !cluster.is_active() || bound <= dropped {
            continue;
        }
        match drop_below(cluster, bound).await {
            Ok(true) => dropped = bound,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the stream could not be shortened"),
        }
    }
}

/// Drops the commits that end below `bound`. Returns `false` if no snapshot includes them yet.
async fn drop_below(cluster: &Cluster<impl Nats>, bound: Seq) -> anyhow::Result<bool> {
    let inner = &*cluster.0;
    let newest = (inner.newest_snapshot)().await?;
    let Some(base) = newest.filter(|it| it.seq + 1 >= bound) else {
        return Ok(false);
    };
    let shared = inner.journal.shared();
    let state = shared.state().await?;
    let before = state.first_sequence;
    let first = shared.find(&state, bound).await?;
    if let Some(first) = first.filter(|it| *it > before) {
        // First the base: a hub that joins in between finds a beginning.
        shared.put_base(first, &base).await?;
        shared.begin_at(first, before).await?;
        tracing::info!(bound, "the stream was shortened");
    }
    Ok(true)
}
