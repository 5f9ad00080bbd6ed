//! The HTTP server: records requests, calls the script, responds in the vendor's format.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::request::Message;
use super::script::NOTHING;
use super::{Reply, Request, messages, responses};

/// The format of one vendor's API.
pub(super) struct Wire {
    /// Parses the conversation of a request.
    pub messages: fn(&Value) -> Vec<Message>,
    /// Serialises a reply; the request's number makes its ids unique.
    pub answer: fn(&Request, &Reply) -> Response,
}

/// Returns events as a stream, each named by its own `type`.
pub(super) fn sse(events: &[Value]) -> Response {
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().expect("a type");
        format!("event: {name}\ndata: {event}\n\n")
    });
    let stream: String = lines.collect();
    ([(CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

/// State shared by the server and the test.
pub(super) struct Shared {
    script: Box<dyn Fn(&Request) -> Reply + Send + Sync>,
    log: Mutex<Log>,
    grown: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    pub requests: Vec<Request>,
    pub other_requests: Vec<Request>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

impl Shared {
    pub(super) fn new(script: Box<dyn Fn(&Request) -> Reply + Send + Sync>) -> Self {
        Self {
            script,
            log: Mutex::default(),
            grown: Condvar::new(),
        }
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another request is recorded, at most for the given time.
    pub(super) fn wait<'a>(
        &self,
        log: MutexGuard<'a, Log>,
        at_most: Duration,
    ) -> MutexGuard<'a, Log> {
        let waited = self.grown.wait_timeout(log, at_most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Records a request, and assigns its number.
    fn keep(&self, mut request: Request) -> Request {
        let mut log = self.log();
        request.number = log.requests.len();
        log.requests.push(request.clone());
        self.grown.notify_all();
        request
    }
}

/// Serves until `stopped`, and then cuts open connections.
pub(super) fn run(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a socket");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        tokio::select! {
            served = axum::serve(listener, router(shared)) => served.expect("a server"),
            _ = stopped => {}
        }
    });
    runtime.shutdown_background();
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/messages", post(claude))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/v1/responses", post(codex))
        .route("/v1beta/models/{call}", post(gemini))
        .fallback(nothing)
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

async fn claude(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    converse(shared, &headers, body, messages::WIRE).await
}

async fn codex(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    converse(shared, &headers, body, responses::WIRE).await
}

async fn gemini(
    State(shared): State<Arc<Shared>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    Json(mut body): Json<Value>,
) -> Response {
    if call.ends_with(":countTokens") {
        return Json(json!({"totalTokens": 10})).into_response();
    }
    body["model"] = call.into();
    converse(shared, &headers, body, super::gemini::WIRE).await
}

async fn count_tokens() -> Json<Value> {
    Json(json!({"input_tokens": 10}))
}

/// Responds to requests that clients send but do not need.
async fn nothing() -> (StatusCode, Json<Value>) {
    let error = json!({"type": "not_found_error", "message": "not scripted"});
    (
        StatusCode::NOT_FOUND,
        Json(json!({"type": "error", "error": error})),
    )
}

async fn converse(shared: Arc<Shared>, headers: &HeaderMap, body: Value, wire: Wire) -> Response {
    let request = request(headers, body, &wire);
    let in_conversation = request.body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    if !in_conversation {
        let answer = (wire.answer)(&request, &Reply::text(NOTHING));
        shared.log().other_requests.push(request);
        return answer;
    }
    let request = shared.keep(request);
    let asked = request.clone();
    let scripted = tokio::task::spawn_blocking(move || (shared.script)(&asked)).await;
    match scripted {
        Ok(reply) => (wire.answer)(&request, &reply),
        Err(panic) => (StatusCode::BAD_REQUEST, panic.to_string()).into_response(),
    }
}

fn request(headers: &HeaderMap, body: Value, wire: &Wire) -> Request {
    let header = |name| headers.get(name)?.to_str().ok().map(str::to_owned);
    let request = Request {
        number: 0,
        at: Instant::now(),
        session: header("x-claude-code-session-id").unwrap_or_default(),
        subagent: header("x-claude-code-agent-id"),
        model: body["model"].as_str().unwrap_or_default().into(),
        new_texts: Vec::new(),
        texts: Vec::new(),
        body: Value::Null,
    };
    let messages = (wire.messages)(&body);
    Request {
        body,
        ..request.read(messages)
    }
}
