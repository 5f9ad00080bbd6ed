//! The clients of the hubs: what they ask, and the routes that answer them in place of the hub's own.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use hub_core::command::{Command, IdempotencyKey};
use hub_core::notification::Draft;
use hub_core::time::Clock;
use hub_engine::Hub;
use hub_http::error::{ApiError, Code};
use hub_protocol::{InboxName, Kind, ProjectName, Seq};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::world::World;
use crate::actors::name;
use crate::rng::Rng;

/// The life of a notification, in milliseconds.
const LIFE_MS: i64 = 3_600_000;
/// No request may take longer, with all pauses of its hub.
pub(super) const LONGEST_CALL: Duration = Duration::from_secs(90);
/// How often a request is repeated.
pub(super) const TRIES: usize = 200;

/// Answers of a hub: those that the cluster treats differently.
#[derive(Clone)]
struct Answers {
    hub: Hub,
    clock: Arc<dyn Clock>,
}

/// The inbox of all notifications.
pub(super) fn inbox() -> (ProjectName, InboxName) {
    ("default".parse().expect("a constant name"), name("primary"))
}

/// The routes of a hub in the world, under paths that the cluster knows.
pub(crate) fn routes(hub: &Hub, clock: &Arc<dyn Clock>) -> Router {
    let answers = Answers {
        hub: hub.clone(),
        clock: Arc::clone(clock),
    };
    Router::new()
        .route("/notify", post(notify))
        .route("/inboxes", get(reach))
        .route("/seen", post(reach))
        .route("/notifications/{id}", get(find))
        .with_state(answers)
}

async fn notify(
    State(Answers { hub, clock }): State<Answers>,
    headers: HeaderMap,
    text: String,
) -> Result<String, ApiError> {
    let once = headers.get("idempotency-key").map(|key| IdempotencyKey {
        key: key.to_str().unwrap_or_default().to_owned(),
        digest: text.clone(),
    });
    let (project, inbox) = inbox();
    let mut draft = Draft::new(
        (&project, &name("w1")),
        Kind::Message,
        text,
        clock.wall(),
        LIFE_MS,
    );
    draft.body.to = Some(inbox);
    let drafts = vec![draft];
    let done = hub.submit(Command::Notify { drafts, once }).await?;
    let id = done.ids.first().copied();
    Ok(json!({ "id": id, "head": id }).to_string())
}

/// Answers by the records that this hub has, or refuses because it lacks one.
async fn reach(
    State(Answers { hub, .. }): State<Answers>,
    Query(wanted): Query<Vec<(String, Seq)>>,
) -> Result<String, ApiError> {
    let head = hub.read(|state, _| state.head())?;
    let wanted = wanted.first().map_or(0, |(_, seq)| *seq);
    if head < wanted {
        return Err(Code::NotFound.into());
    }
    Ok(json!({ "head": head }).to_string())
}

async fn find(state: State<Answers>, Path(id): Path<Seq>) -> Result<String, ApiError> {
    reach(state, Query(vec![(String::new(), id)])).await
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(super) status: StatusCode,
    is_stale: bool,
    pub(super) content: Value,
}

impl Answer {
    /// Whether nothing was stored, and the same request would not be either.
    fn is_refusal(&self) -> bool {
        self.status.is_client_error() || self.status == StatusCode::INSUFFICIENT_STORAGE
    }

    fn number(&self, key: &str) -> Seq {
        self.content[key].as_u64().unwrap_or(0)
    }
}

impl World {
    /// Sends a request to a hub. `None`: there was no answer.
    pub(crate) async fn call(
        &self,
        hub: usize,
        request: Request,
        within: Duration,
    ) -> Option<Answer> {
        let (front, pulse) = self.front_of(hub)?;
        let path = request.uri().path().to_owned();
        let answered = async {
            let Ok(response) = front.oneshot(request).await;
            let (parts, body) = response.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
            Answer {
                status: parts.status,
                is_stale: parts.headers.contains_key("hub-stale"),
                content: serde_json::from_slice(&body).unwrap_or_default(),
            }
        };
        tokio::select! {
            biased;
            () = pulse.ended() => None,
            answer = pulse.gated(answered) => Some(answer),
            () = tokio::time::sleep(within) => {
                if within >= LONGEST_CALL {
                    self.breaks(format!("hub {hub} does not answer {path}"));
                }
                None
            }
        }
    }

    /// A publisher sends a notification, and repeats it until it has an answer if it has a key.
    pub(crate) async fn publish(
        self: Arc<Self>,
        text: String,
        mut hub: usize,
        has_key: bool,
        mut rng: Rng,
    ) {
        // Whether a request without an answer may still be on its way through another hub.
        let mut is_open = false;
        for _ in 0..TRIES {
            let mut request = Request::post("/notify");
            if has_key {
                request = request.header("idempotency-key", text.as_str());
            }
            let body = Body::from(Bytes::from(text.clone()));
            let Ok(request) = request.body(body) else {
                return;
            };
            let answer = self.call(hub, request, patience(&mut rng)).await;
            match answer {
                Some(answer) if answer.status.is_success() => {
                    let id = answer.number("id");
                    self.tell(format_args!("hub {hub} stores '{text}' as {id}"));
                    self.note(|oracle| oracle.confirmed(&text, id));
                    if rng.chance(30) {
                        self.look_for(hub, id, rng).await;
                    }
                    return;
                }
                Some(answer) if answer.is_refusal() && !is_open => {
                    self.tell(format_args!(
                        "hub {hub} refuses '{text}': {}",
                        answer.status
                    ));
                    return self.note(|oracle| oracle.refused(&text));
                }
                _ if !has_key => {
                    self.tell(format_args!("hub {hub} may have stored '{text}'"));
                    return;
                }
                _ => is_open = true,
            }
            tokio::time::sleep(Duration::from_millis(rng.between(100, 1_500))).await;
            hub = rng.index(self.hubs());
        }
        self.breaks(format!("'{text}' is never stored"));
    }

    /// A reader asks for what is stored: no fresh answer may lack it.
    pub(crate) async fn read(self: Arc<Self>, hub: usize, rng: Rng) {
        let known = self.with_oracle(|oracle| oracle.acknowledged);
        self.look_for(hub, known, rng).await;
    }

    async fn look_for(&self, hub: usize, known: Seq, mut rng: Rng) {
        let request = match rng.below(3) {
            0 => Request::get(format!("/inboxes?seq={known}")),
            1 => Request::get(format!("/notifications/{known}")),
            _ => Request::post(format!("/seen?seq={known}")),
        };
        let Ok(request) = request.body(Body::empty()) else {
            return;
        };
        let uri = request.uri().clone();
        let Some(answer) = self.call(hub, request, patience(&mut rng)).await else {
            return;
        };
        let (status, head) = (answer.status, answer.number("head"));
        self.tell(format_args!(
            "hub {hub} answers {uri} with {status} by record {head}"
        ));
        let lacks = answer.status.is_success() && head < known && !answer.is_stale;
        if lacks || answer.status.is_client_error() {
            self.breaks(format!("hub {hub} answers {uri} with {status} by record {head}, and {known} was acknowledged before"));
        }
    }

    /// The person lets another hub become the active one.
    pub(crate) async fn hand_over(self: Arc<Self>, hub: usize, node: String) {
        let request = Request::post("/cluster/handover").header(CONTENT_TYPE, "application/json");
        let body = json!({ "node": node }).to_string();
        let Ok(request) = request.body(Body::from(body)) else {
            return;
        };
        if let Some(answer) = self.call(hub, request, LONGEST_CALL).await {
            self.tell(format_args!(
                "hub {hub} hands over to {node}: {}",
                answer.status
            ));
        }
    }
}

/// How long a client waits for its answer.
pub(super) fn patience(rng: &mut Rng) -> Duration {
    if rng.chance(15) {
        Duration::from_millis(rng.between(10, 3_000))
    } else {
        LONGEST_CALL
    }
}
