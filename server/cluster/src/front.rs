//! Which hub answers a client's request: this one, or the active one.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hub_http::error::{ApiError, Code};
use hub_http::request::caller::Caller;
use hub_http::request::params::WAIT_TIMEOUT;
use hub_http::routes::{self, Property};
use hub_protocol::{Cursor, Seq};
use serde_json::Value;
use tokio::time::Instant;

use super::Cluster;
use super::forward::{self, Forwarded};
use super::wire::{self, CallRequest};
use crate::nats::Nats;

/// How long a request waits for an active hub. A wait does so until its own timeout.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before a request is sent again.
const RETRY: Duration = Duration::from_millis(200);
/// How long an event stream waits for its position, which a reader of another hub may have seen before this one.
const CURSOR: Duration = Duration::from_secs(5);
/// The largest body of a request; routes have lower limits.
const MAX_BODY: usize = 4 << 20;

const STALE: HeaderName = HeaderName::from_static("hub-stale");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Puts the choice before `routes`.
pub(super) fn layer<N: Nats>(cluster: &Cluster<N>, routes: Router) -> Router {
    routes.layer(middleware::from_fn_with_state(cluster.clone(), answer::<N>))
}

async fn answer<N: Nats>(
    State(cluster): State<Cluster<N>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    if path == "/readyz" && cluster.active().is_none() {
        let detail = "no hub of the cluster is active, as far as this one knows";
        return ApiError::new(Code::NotReady, detail).into_response();
    }
    let properties = routes::properties(request.method(), path);
    let in_copy = properties.contains(&Property::InCopy);
    if properties.contains(&Property::Local) {
        if let Some(position) = cursor(&cluster, &request)
            && let Err(error) = reach(&cluster, position).await
        {
            return error.into_response();
        }
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return ApiError::from(Code::PayloadTooLarge).into_response();
    };
    if in_copy {
        let response = next.clone().run(rebuilt(&parts, &body)).await;
        if !response.status().is_client_error() || cluster.is_active() {
            let known = cluster.active().is_some();
            return if known { response } else { stale(response) };
        }
        // The copy may lack what the active hub has.
    }
    choose(&cluster, parts, body, next).await
}

fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Whether an answer that this hub made by its own state counts. If it is not active any more, another hub may have stored
/// something since: then it must not refuse anything, and what it reads may be old. What it has stored is stored, because
/// the log accepted it, and what it has handed out is handed out.
pub(super) fn counts(
    cluster: &Cluster<impl Nats>,
    (method, path): (&Method, &str),
    status: StatusCode,
) -> bool {
    let is_done = status.is_success() && (!reads(method) || path == "/wait");
    is_done || status.is_server_error() || cluster.is_active()
}

/// Answers here while this hub is active, else by the active hub, until one answers or the request's time is over.
async fn choose(
    cluster: &Cluster<impl Nats>,
    mut parts: Parts,
    body: Bytes,
    next: Next,
) -> Response {
    let began = Instant::now();
    let waits = parts.uri.path() == "/wait";
    let patience = if waits {
        timeout(&parts.uri).max(PATIENCE)
    } else {
        PATIENCE
    };
    let reads = reads(&parts.method);
    let repeatable = reads || parts.headers.contains_key(IDEMPOTENCY_KEY);
    let mut head = None;
    while !cluster.0.hub.shutdown().is_cancelled() {
        if cluster.is_active() {
            let response = next.clone().run(rebuilt(&parts, &body)).await;
            let status = response.status();
            let is_undone = status == Code::NoActiveHub.status() && !cluster.is_active();
            if !counts(cluster, (&parts.method, parts.uri.path()), status) {
                if reads && !waits && !status.is_client_error() {
                    return stale(response);
                }
            } else if !(is_undone && repeatable) {
                return response;
            }
        } else {
            if head.is_none() {
                head = Some(match request_head(cluster, &parts).await {
                    Ok(head) => head,
                    Err(error) => return error.into_response(),
                });
            }
            let Some(head) = &head else { continue };
            match forward::forward(cluster, head, &body).await {
                Forwarded::Answer(response) if parts.uri.path() == "/dashboard" => {
                    return with_own_description(response, &parts, next).await;
                }
                Forwarded::Answer(response) => {
                    if !(waits && response.status() == Code::NoActiveHub.status()) {
                        return response;
                    }
                }
                Forwarded::Lost if !repeatable => break,
                Forwarded::Refused | Forwarded::Lost if reads && !waits => {
                    let own = next.clone().run(rebuilt(&parts, &body)).await;
                    if !own.status().is_client_error() {
                        return stale(own);
                    }
                }
                Forwarded::Refused | Forwarded::Lost => {}
            }
        }
        if began.elapsed() > patience {
            break;
        }
        tokio::time::sleep(RETRY).await;
        if waits {
            let rest = patience.saturating_sub(began.elapsed());
            parts.uri = with_timeout(&parts.uri, rest.min(timeout(&parts.uri)));
            if let Some(head) = &mut head {
                head.uri = target(&parts.uri);
            }
        }
    }
    ApiError::from(Code::NoActiveHub).into_response()
}

/// Returns how long a wait may take.
fn timeout(uri: &Uri) -> Duration {
    let mut query = uri.query().unwrap_or_default().split('&');
    let given = query.find_map(|it| it.strip_prefix("timeout=")?.parse().ok());
    Duration::from_secs(given.unwrap_or(WAIT_TIMEOUT))
}

/// Returns the target of a wait that goes on for this long.
fn with_timeout(uri: &Uri, timeout: Duration) -> Uri {
    let query = uri.query().unwrap_or_default().split('&');
    let mut query: Vec<&str> = query.filter(|it| !it.starts_with("timeout=")).collect();
    let timeout = format!("timeout={}", timeout.as_secs());
    query.push(&timeout);
    let target = format!("{}?{}", uri.path(), query.join("&"));
    target.parse().unwrap_or_else(|_| uri.clone())
}

fn target(uri: &Uri) -> String {
    let target = uri.path_and_query().map(ToString::to_string);
    target.unwrap_or_default()
}

fn rebuilt(parts: &Parts, body: &Bytes) -> Request {
    Request::from_parts(parts.clone(), Body::from(body.clone()))
}

async fn request_head(
    cluster: &Cluster<impl Nats>,
    parts: &Parts,
) -> Result<CallRequest, ApiError> {
    let caller = Caller::of(&parts.extensions);
    // Only this machine can inspect the process.
    let kind = caller.kind(&cluster.0.hub).await?;
    let properties = routes::properties(&parts.method, parts.uri.path());
    let of_agents = properties.contains(&Property::AgentsOrigin) && kind.is_agents();
    let lineage = if of_agents || properties.contains(&Property::Origin) {
        caller.lineage().await
    } else {
        None
    };
    Ok(CallRequest {
        id: String::new(),
        method: parts.method.to_string(),
        uri: target(&parts.uri),
        headers: wire::to_pairs(&parts.headers),
        dashboard: caller.is_dashboard(),
        caller: kind,
        lineage,
    })
}

/// Replaces the active hub's description of itself in its answer by that of this hub, which the browser talks to.
async fn with_own_description(response: Response, parts: &Parts, next: Next) -> Response {
    let own = next.run(rebuilt(parts, &Bytes::new())).await;
    let (head, body) = response.into_parts();
    let (Ok(body), Ok(own)) = (
        to_bytes(body, usize::MAX).await,
        to_bytes(own.into_body(), MAX_BODY).await,
    ) else {
        return ApiError::from(Code::NoActiveHub).into_response();
    };
    let parsed: Option<(Value, Value)> = serde_json::from_slice(&body)
        .ok()
        .zip(serde_json::from_slice(&own).ok());
    let Some((answer, own)) = parsed.filter(|(answer, _)| answer["hub"].is_object()) else {
        return Response::from_parts(head, Body::from(body));
    };
    Response::from_parts(head, Body::from(described_as(answer, own).to_string()))
}

/// Returns `answer` with the description of the hub in `own`. The position stays: `own` was made later, and the browser
/// must not skip the records between the two.
fn described_as(mut answer: Value, mut own: Value) -> Value {
    let position = answer["hub"]["head"].take();
    answer["hub"] = own["hub"].take();
    answer["hub"]["head"] = position;
    answer
}

/// Marks an answer from this hub's own copy, which may be old.
fn stale(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(STALE, HeaderValue::from_static("1"));
    response
}

/// Returns the position in this log from which an event stream shall go on.
fn cursor(cluster: &Cluster<impl Nats>, request: &Request) -> Option<Seq> {
    if request.uri().path() != "/events" {
        return None;
    }
    let last = request.headers().get(LAST_EVENT_ID);
    let last = last.and_then(|it| it.to_str().ok());
    let mut query = request.uri().query().unwrap_or_default().split('&');
    let since = || query.find_map(|it| it.strip_prefix("since="));
    let cursor: Cursor = last.or_else(since)?.parse().ok()?;
    (cursor.epoch? == cluster.0.hub.log().epoch()).then_some(cursor.seq)
}

/// Waits until the log includes this position: a reader that comes from another hub may be ahead of this one.
async fn reach(cluster: &Cluster<impl Nats>, position: Seq) -> Result<(), ApiError> {
    let mut head = cluster.0.hub.log().subscribe();
    let reached = tokio::time::timeout(CURSOR, head.wait_for(|it| *it >= position)).await;
    reached.map(drop).map_err(|_| {
        let detail = "this hub has not received that record yet";
        ApiError::new(Code::NoActiveHub, detail)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::time::Duration;

    use super::{described_as, timeout, with_timeout};

    #[test]
    fn a_wait_that_moves_to_another_hub_goes_on_for_the_rest_of_its_time() {
        let wait = "/wait?inbox=w&timeout=60&as=x".parse().unwrap();
        let rest = with_timeout(&wait, Duration::from_millis(12_500));
        assert_eq!(rest, "/wait?inbox=w&as=x&timeout=12");
        assert_eq!(timeout(&rest), Duration::from_secs(12));
        let endless = format!("/wait?timeout={}", u64::MAX).parse().unwrap();
        assert_eq!(with_timeout(&endless, timeout(&endless)), endless);
    }

    #[test]
    fn the_position_is_that_of_the_answer_and_the_rest_that_of_this_hub() {
        let answer = json!({ "hub": { "node": "a", "head": 7 }, "inboxes": ["w"] });
        let own = json!({ "hub": { "node": "b", "head": 9 }, "inboxes": [] });
        let expected = json!({ "hub": { "node": "b", "head": 7 }, "inboxes": ["w"] });
        assert_eq!(described_as(answer, own), expected);
    }
}
