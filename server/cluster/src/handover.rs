//! `POST /cluster/handover`: makes another hub the active one.
//!
//! Each hub takes the request. The active one checks the other hub and gives its lease to it; the hub that took the request
//! answers when its own copy of the log has the record of the takeover.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use hub_core::record::Led;
use hub_core::sync;
use hub_http::error::{ApiError, Code};
use hub_http::request::payload::Payload;
use hub_log::journal::Journal as _;
use hub_protocol::{Seq, Takeover};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Cluster, forward};
use crate::nats::Nats;

/// How long the takeover may take. It takes well below a second, unless NATS elects a leader.
const PATIENCE: Duration = Duration::from_secs(5);

/// After this time without a takeover, the active hub is asked again.
const AGAIN: Duration = Duration::from_millis(500);

/// The body of the request.
#[derive(Debug, Deserialize)]
struct HandOverTo {
    node: String,
}

/// Hands over, and returns when the other hub is active.
pub(super) async fn hand_over<N: Nats>(
    State(cluster): State<Cluster<N>>,
    body: Payload,
) -> Result<Json<Takeover>, ApiError> {
    let HandOverTo { node } = body.json()?;
    let start = Instant::now();
    let info = cluster.info();
    if let (Some(active), Some(since)) = (info.active, info.since)
        && active == node
    {
        let took_ms = 0;
        return Ok(Json(Takeover {
            active,
            since,
            took_ms,
        }));
    }
    let term = leader(&cluster)?.map(|(term, _)| term);
    let mut head = cluster.0.hub.log().subscribe();
    while start.elapsed() < PATIENCE {
        // Again if nothing came of it: the hub that was asked may have ceased to be the active one.
        ask(&cluster, &node)
            .await
            .map_err(|reason| ApiError::new(Code::CannotLead, reason))?;
        let taken_over = until_led_by(&cluster, &node, term, &mut head);
        if let Ok(led) = tokio::time::timeout(AGAIN, taken_over).await {
            let led = led?;
            return Ok(Json(Takeover {
                active: led.node,
                since: led.at,
                took_ms: start.elapsed().as_millis().try_into().unwrap_or(u64::MAX),
            }));
        }
    }
    let detail = format!("'{node}' has not taken over yet: see hubctl status");
    Err(ApiError::new(Code::NoActiveHub, detail))
}

/// Waits until this hub has read that `node` began a term after `term`. It may still have to read an earlier takeover, by
/// another hub.
async fn until_led_by(
    cluster: &Cluster<impl Nats>,
    node: &str,
    term: Option<Seq>,
    head: &mut watch::Receiver<Seq>,
) -> Result<Led, ApiError> {
    loop {
        let is_it = |(seq, led): &(Seq, Led)| Some(*seq) > term && led.node == node;
        if let Some((_, led)) = leader(cluster)?.filter(is_it) {
            return Ok(led);
        }
        // The log lives as long as the cluster.
        let _ = head.changed().await;
    }
}

/// Asks the active hub to let its lease go to the hub `node`.
async fn ask(cluster: &Cluster<impl Nats>, node: &str) -> Result<(), String> {
    if cluster.is_active() {
        begin(cluster, node)
    } else {
        forward::hand_over(cluster, node).await
    }
}

/// Returns the hub that began the last term, with its number.
fn leader(cluster: &Cluster<impl Nats>) -> Result<Option<(Seq, Led)>, ApiError> {
    Ok(cluster.0.hub.read(|state, _| state.leader().cloned())?)
}

/// Lets the lease go to the hub `node` in a moment. Fails with the reason why that hub cannot take over.
pub(super) fn begin(cluster: &Cluster<impl Nats>, node: &str) -> Result<(), String> {
    let inner = &*cluster.0;
    if node == inner.node {
        // It has taken over since it was asked for.
        return Ok(());
    }
    inner.nodes.check_heir(node, inner.journal.head())?;
    *sync::lock(&inner.heir) = Some((node.to_owned(), Instant::now()));
    inner.hurry.notify_one();
    Ok(())
}

/// Returns the hub that [`begin`] chose, once, and only while somebody waits for the takeover.
pub(super) fn take_chosen(cluster: &Cluster<impl Nats>) -> Option<String> {
    let (node, since) = sync::lock(&cluster.0.heir).take()?;
    (since.elapsed() < PATIENCE).then_some(node)
}
