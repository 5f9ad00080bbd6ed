//! The readers of an inbox: they wait at any hub, and acknowledge what they got at any other.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::routing::{get, post};
use hub_core::waiters::{MAX_BYTES, Outcome, WaitSpec};
use hub_engine::Hub;
use hub_http::error::{ApiError, Code};
use hub_protocol::Seq;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::clients::{LONGEST_CALL, TRIES, inbox, patience};
use super::world::World;
use crate::rng::Rng;

/// The names under which readers wait. One that waits again has lost what it did not acknowledge.
const NAMES: [&str; 2] = ["one", "two"];

/// The routes of a hub for readers, under paths that the cluster knows.
pub(super) fn routes(hub: &Hub) -> Router {
    Router::new()
        .route("/wait", get(wait))
        .route("/inboxes/primary/ack", post(acknowledge))
        .with_state(hub.clone())
}

async fn wait(
    State(hub): State<Hub>,
    Query(mut wait): Query<HashMap<String, String>>,
) -> Result<String, ApiError> {
    let (project, inbox) = inbox();
    let seconds = wait["timeout"].parse().unwrap_or_default();
    let name = wait.remove("as").unwrap_or_default();
    let spec = WaitSpec {
        inboxes: vec![inbox],
        deadline: (Instant::now() + Duration::from_secs(seconds)).into_std(),
        drain: false,
        ..WaitSpec::drain(project, None, name, MAX_BYTES)
    };
    let batch = match hub.wait(spec).await? {
        Outcome::Batch(batch) => batch,
        Outcome::Empty | Outcome::HeldBack(_) => return Ok(json!({ "ids": [] }).to_string()),
        Outcome::Held { .. } | Outcome::TakenOver => return Err(Code::InboxHeld.into()),
        Outcome::Reset => return Err(Code::ProjectReset.into()),
    };
    let ids: Vec<Seq> = batch.items.iter().map(|it| it.id).collect();
    let lease = hub.leases().sign(&batch.claim(hub.log().epoch()));
    Ok(json!({ "ids": ids, "lease": lease }).to_string())
}

async fn acknowledge(State(hub): State<Hub>, lease: String) -> Result<String, ApiError> {
    let claim = hub.leases().verify(&lease, hub.log().epoch());
    let claim = claim.map_err(|error| ApiError::new(Code::ForgedLease, error))?;
    hub.submit(claim.into()).await?;
    Ok(Value::Null.to_string())
}

impl World {
    /// A reader waits at a hub, and acknowledges what it gets, or not.
    pub(crate) async fn wait(self: Arc<Self>, hub: usize, mut rng: Rng) {
        let name = *rng.pick(&NAMES);
        let timeout = *rng.pick(&[0, 2, 20]);
        let Some((ids, lease)) = self.take(hub, (name, timeout), patience(&mut rng)).await else {
            return;
        };
        tokio::time::sleep(Duration::from_millis(rng.below(2_000))).await;
        if !ids.is_empty() && rng.chance(80) {
            let other = rng.index(self.hubs());
            self.acknowledge(other, (ids, lease), patience(&mut rng))
                .await;
        }
    }

    /// Readers take all that is left, at the end.
    pub(crate) async fn drain(self: Arc<Self>, mut rng: Rng) {
        for name in NAMES {
            let mut is_empty = false;
            for _ in 0..TRIES {
                let hub = rng.index(self.hubs());
                match self.take(hub, (name, 0), LONGEST_CALL).await {
                    Some((ids, _)) if ids.is_empty() => {
                        is_empty = true;
                        break;
                    }
                    Some(batch) => self.acknowledge(hub, batch, LONGEST_CALL).await,
                    None => tokio::time::sleep(Duration::from_secs(1)).await,
                }
            }
            if !is_empty {
                return self.breaks(format!("reader {name} never has everything"));
            }
        }
        self.note(|oracle| oracle.check_delivered(&inbox()));
    }

    /// Waits, and returns what it got, with the lease; `None` if there was no answer, or a refusal.
    async fn take(
        &self,
        hub: usize,
        (name, timeout): (&str, u64),
        within: Duration,
    ) -> Option<(Vec<Seq>, String)> {
        let acknowledged = self.with_oracle(|oracle| oracle.read.clone());
        let uri = format!("/wait?timeout={timeout}&as={name}");
        let request = Request::get(uri).body(Body::empty()).ok()?;
        let answer = self.call(hub, request, within).await?;
        if !answer.status.is_success() {
            let status = answer.status;
            self.tell(format_args!("hub {hub} refuses reader {name}: {status}"));
            return None;
        }
        let ids = answer.content["ids"].as_array()?.iter();
        let ids: Vec<Seq> = ids.filter_map(Value::as_u64).collect();
        self.tell(format_args!("hub {hub} gives reader {name} {ids:?}"));
        self.note(|oracle| oracle.delivered(&ids, &acknowledged));
        let lease = answer.content["lease"].as_str().unwrap_or_default();
        Some((ids, lease.to_owned()))
    }

    async fn acknowledge(&self, hub: usize, (ids, lease): (Vec<Seq>, String), within: Duration) {
        let request = Request::post("/inboxes/primary/ack").body(Body::from(lease));
        let Ok(request) = request else { return };
        let Some(answer) = self.call(hub, request, within).await else {
            return;
        };
        let status = answer.status;
        self.tell(format_args!(
            "hub {hub} notes that {ids:?} are read: {status}"
        ));
        if status.is_success() {
            self.note(|oracle| {
                oracle.read.extend(ids);
                Ok(())
            });
        }
    }
}
