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

use super::request::Message;
use super::script::NOTHING;
use super::{Block, Reply, Request, messages, responses};

/// The format of one vendor's API.
pub(super) struct Wire {
    /// Parses the conversation of a request.
    pub messages: fn(&Value) -> Vec<Message>,
    /// Serialises a reply; the request's number makes its ids unique.
    pub answer: fn(&Request, &Block) -> Response,
}

/// Returns events as a stream, each named by its own `type`.
pub(super) fn sse(events: &[Value]) -> Response {
    let name = |event: &Value| event["type"].as_str().expect("a type").to_owned();
    let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", name(event));
    let stream: String = events.iter().map(line).collect();
    ([(CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

/// State shared by the server and the test.
pub(super) struct Shared {
    script: Box<dyn Fn(&Request) -> Reply + Send + Sync>,
    /// The conversation's requests so far.
    requests: Mutex<Vec<Request>>,
    grown: Condvar,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

type Requests<'a> = MutexGuard<'a, Vec<Request>>;

impl Shared {
    pub(super) fn new(script: Box<dyn Fn(&Request) -> Reply + Send + Sync>) -> Self {
        Self {
            script,
            requests: Mutex::default(),
            grown: Condvar::new(),
        }
    }

    pub(super) fn requests(&self) -> Requests<'_> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another request is recorded, at most for the given time.
    pub(super) fn wait<'a>(&self, log: Requests<'a>, at_most: Duration) -> Requests<'a> {
        let waited = self.grown.wait_timeout(log, at_most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Records a request, and assigns its number.
    fn keep(&self, mut request: Request) -> Request {
        let mut requests = self.requests();
        request.number = requests.len();
        requests.push(request.clone());
        self.grown.notify_all();
        request
    }
}

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/messages", post(claude))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/v1/responses", post(codex))
        .route("/v1beta/models/{call}", post(gemini))
        .fallback(nothing)
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

type Served = State<Arc<Shared>>;

async fn claude(shared: Served, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    converse(shared, &headers, body, messages::WIRE).await
}

async fn codex(shared: Served, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    converse(shared, &headers, body, responses::WIRE).await
}

async fn gemini(
    shared: Served,
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
    let body = json!({"type": "error", "error": error});
    (StatusCode::NOT_FOUND, Json(body))
}

async fn converse(shared: Served, headers: &HeaderMap, body: Value, wire: Wire) -> Response {
    let State(shared) = shared;
    let request = request(headers, body, &wire);
    let tools = request.body["tools"].as_array();
    if tools.is_none_or(Vec::is_empty) {
        return (wire.answer)(&request, &Block::Text(NOTHING.into()));
    }
    let request = shared.keep(request);
    let asked = request.clone();
    let scripted = tokio::task::spawn_blocking(move || (shared.script)(&asked)).await;
    match scripted {
        Ok(Reply::Says(block)) => (wire.answer)(&request, &block),
        Ok(Reply::Fails(status, kind)) => {
            let status = StatusCode::from_u16(status).expect("an HTTP status");
            let error = json!({"type": kind, "message": "scripted"});
            (status, Json(json!({"type": "error", "error": error}))).into_response()
        }
        Ok(Reply::Limited(until)) => limited(until),
        Err(panic) => (StatusCode::BAD_REQUEST, panic.to_string()).into_response(),
    }
}

/// The refusal of an account at its limit: in Anthropic's words for Claude Code, and with the fields that Codex reads.
fn limited(until: i64) -> Response {
    let message = format!("Claude AI usage limit reached|{until}");
    let error = json!({
        "type": "usage_limit_reached", "message": message, "plan_type": "plus", "resets_at": until,
    });
    let body = Json(json!({"type": "error", "error": error}));
    (
        StatusCode::TOO_MANY_REQUESTS,
        [("x-should-retry", "false")],
        body,
    )
        .into_response()
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
