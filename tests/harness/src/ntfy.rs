//! A server of ntfy's documented protocol (<https://docs.ntfy.sh/publish/>, <https://docs.ntfy.sh/subscribe/api/>), and the
//! phone's part of it. It is stricter than ntfy: unknown fields and too long messages are errors. Any other address takes any
//! JSON, as a webhook does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::server::Server;
use crate::{Port, until};

/// The longest message that ntfy shows as a message, in bytes.
const MAX_MESSAGE: usize = 4096;

/// A server on its own loopback port; stopped when dropped.
#[derive(Debug)]
pub struct Ntfy {
    server: Server,
    shared: Arc<NtfyShared>,
}

#[derive(Debug)]
struct NtfyShared {
    inner: Mutex<NtfyState>,
    grown: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct NtfyState {
    /// Every message, with its topic.
    messages: Vec<Value>,
    /// The address, the access token and the body of every request that was accepted at another address.
    posts: Vec<(String, Value)>,
    planned: VecDeque<Planned>,
    /// The access token without which only `reply` can be written.
    token: Option<String>,
}

/// How the server treats a request to publish.
#[derive(Debug, Clone, Copy)]
pub enum Planned {
    /// It refuses it with this status, and with `Retry-After: 1` if that is set.
    Refuses(u16, bool),
    /// It accepts it, and never answers.
    Accepts,
    /// It ignores it, and never answers.
    Hangs,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Publish {
    topic: String,
    title: String,
    message: String,
    priority: u8,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    actions: Vec<PublishedAction>,
}

/// A button of a message.
#[derive(Debug, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct PublishedAction {
    action: String,
    label: String,
    url: String,
    method: String,
    body: String,
    clear: bool,
}

#[derive(Debug, Deserialize)]
struct Since {
    since: Option<String>,
}

impl Ntfy {
    /// Starts a server.
    pub fn start() -> Self {
        Self::start_at(Port::new())
    }

    /// Starts a server at a port.
    pub fn start_at(port: Port) -> Self {
        let shared = Arc::new(NtfyShared {
            inner: Mutex::default(),
            grown: watch::Sender::new(0),
        });
        let app = Router::new()
            .route("/", post(publish_json))
            .route("/{topic}", post(publish_text))
            .route("/{topic}/json", get(subscribe))
            .fallback(take)
            .with_state(shared.clone());
        let server = Server::start(port, app);
        Self { server, shared }
    }

    /// Returns the server's address.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the port, at which another server can start after this one.
    pub fn port(&self) -> Port {
        self.server.port().clone()
    }

    /// Requires an access token, except to write into the topic `reply`.
    pub fn require(&self, token: &str) {
        self.shared.state().token = Some(token.into());
    }

    /// Plans how the next requests to publish are treated, one each.
    pub fn plan(&self, planned: &[Planned]) {
        self.shared.state().planned.extend(planned);
    }

    /// Whether every planned treatment was used.
    pub fn is_plan_done(&self) -> bool {
        self.shared.state().planned.is_empty()
    }

    /// Returns the messages of a topic, oldest first.
    pub fn messages(&self, topic: &str) -> Vec<Value> {
        let state = self.shared.state();
        let own = state.messages.iter().filter(|it| it["topic"] == topic);
        own.cloned().collect()
    }

    /// Waits until a topic has at least so many messages, and returns all of them.
    pub fn until_messages(&self, topic: &str, count: usize) -> Vec<Value> {
        until(&format!("{topic} has {count} messages"), || {
            Some(self.messages(topic)).filter(|all| all.len() >= count)
        })
    }

    /// Waits until so many bodies were posted to an address that is no topic, and returns all of them.
    pub fn until_posts(&self, path: &str, count: usize) -> Vec<Value> {
        until(&format!("{path} has {count} posts"), || {
            let state = self.shared.state();
            let own = state.posts.iter().filter(|(to, _)| to == path);
            let all: Vec<Value> = own.map(|(_, body)| body.clone()).collect();
            (all.len() >= count).then_some(all)
        })
    }

    /// Publishes a text to a topic, as anyone can.
    pub fn publish(&self, topic: &str, text: &str) {
        self.shared.keep(topic, &json!({ "message": text }));
    }

    /// Presses the button of a message, as the app on the phone does. Asserts that the server accepts it.
    pub async fn press(&self, message: &Value, label: &str) {
        let action = button(message, label);
        let url = action["url"].as_str().expect("a URL");
        let body = action["body"].as_str().expect("a body").to_owned();
        let request = reqwest::Client::new().post(url).body(body);
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), 200);
    }
}

/// Returns the button of a message by its label.
#[track_caller]
pub fn button<'a>(message: &'a Value, label: &str) -> &'a Value {
    let actions = message["actions"].as_array().expect("buttons");
    let found = actions.iter().find(|it| it["label"] == label);
    found.unwrap_or_else(|| panic!("no button '{label}' in {message}"))
}

impl NtfyShared {
    fn state(&self) -> MutexGuard<'_, NtfyState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a message of a topic, and returns it as subscribers get it.
    fn keep(&self, topic: &str, fields: &Value) -> Value {
        let mut state = self.state();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut message = json!({
            "id": format!("m{:09}", state.messages.len()),
            "time": now.expect("a time").as_secs(),
            "event": "message",
            "topic": topic,
        });
        let all = message.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("an object").clone());
        state.messages.push(message.clone());
        self.grown.send_replace(state.messages.len());
        message
    }

    fn may(&self, headers: &HeaderMap) -> bool {
        let state = self.state();
        let given = headers.get("authorization").and_then(|it| it.to_str().ok());
        let wanted = state.token.as_ref().map(|it| format!("Bearer {it}"));
        wanted.is_none() || given == wanted.as_deref()
    }
}

/// Carries out what is planned for this request; `None` if it is treated as usual.
async fn treated(shared: &NtfyShared, store: impl FnOnce()) -> Option<Response> {
    let planned = shared.state().planned.pop_front()?;
    match planned {
        Planned::Refuses(status, pause) => {
            let status = StatusCode::from_u16(status).expect("a status");
            let mut response = (status, r#"{"code":1,"error":"planned"}"#).into_response();
            if pause {
                let headers = response.headers_mut();
                headers.insert("retry-after", "1".parse().expect("a value"));
            }
            return Some(response);
        }
        Planned::Accepts => store(),
        Planned::Hangs => {}
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    None
}

async fn publish_json(
    State(shared): State<Arc<NtfyShared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !shared.may(&headers) {
        return (
            StatusCode::FORBIDDEN,
            r#"{"code":40301,"error":"forbidden"}"#,
        )
            .into_response();
    }
    let publish: Publish = match serde_json::from_slice(&body) {
        Ok(publish) => publish,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let is_sound = publish.message.len() <= MAX_MESSAGE
        && (1..=5).contains(&publish.priority)
        && publish.actions.len() <= 3
        && publish
            .actions
            .iter()
            .all(|it| it.action == "http" && it.clear);
    if !is_sound {
        return (StatusCode::BAD_REQUEST, "invalid message").into_response();
    }
    let mut fields = json!({
        "title": publish.title,
        "message": publish.message,
        "priority": publish.priority,
        "tags": publish.tags,
    });
    if !publish.actions.is_empty() {
        fields["actions"] = json!(publish.actions);
    }
    let store = || shared.keep(&publish.topic, &fields);
    match treated(&shared, || drop(store())).await {
        Some(response) => response,
        None => Json(store()).into_response(),
    }
}

async fn publish_text(
    State(shared): State<Arc<NtfyShared>>,
    Path(topic): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    if topic != "reply" && !shared.may(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    Json(shared.keep(&topic, &json!({ "message": body }))).into_response()
}

/// Whether `since` includes the message with this place and time.
fn is_since(since: &str, messages: &[Value], place: usize) -> bool {
    match since {
        "all" => return true,
        "none" => return false,
        _ => {}
    }
    if since.ends_with(['s', 'm', 'h', 'd']) {
        return true; // a test does not last that long
    }
    // A message that is not kept any more counts as the beginning.
    let known = messages.iter().position(|it| it["id"] == since);
    known.is_none_or(|known| place > known)
}

async fn subscribe(
    State(shared): State<Arc<NtfyShared>>,
    Path(topic): Path<String>,
    Query(Since { since }): Query<Since>,
    headers: HeaderMap,
) -> Response {
    if !shared.may(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let since = since.unwrap_or_else(|| "none".into());
    let mut grown = shared.grown.subscribe();
    let begin = shared.state().messages.len();
    let lines = async_lines(move |sender| async move {
        let open = json!({ "id": "open", "time": 0, "event": "open", "topic": topic });
        let mut place = 0;
        let mut pending = vec![open];
        loop {
            {
                let state = shared.state();
                while place < state.messages.len() {
                    let message = &state.messages[place];
                    let is_new = place >= begin || is_since(&since, &state.messages, place);
                    if message["topic"] == topic && is_new {
                        pending.push(message.clone());
                    }
                    place += 1;
                }
            }
            for message in pending.drain(..) {
                if sender.send(format!("{message}\n")).await.is_err() {
                    return;
                }
            }
            if grown.changed().await.is_err() {
                return;
            }
        }
    });
    Response::new(Body::from_stream(lines))
}

/// A stream of the lines that a task sends.
fn async_lines<F: Future<Output = ()> + Send + 'static>(
    task: impl FnOnce(tokio::sync::mpsc::Sender<String>) -> F,
) -> impl futures_util::Stream<Item = Result<String, std::convert::Infallible>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(16);
    tokio::spawn(task(sender));
    futures_util::stream::unfold(receiver, async |mut receiver| {
        Some((Ok(receiver.recv().await?), receiver))
    })
}

/// Takes any JSON at any other address.
async fn take(State(shared): State<Arc<NtfyShared>>, uri: Uri, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let store = || shared.state().posts.push((uri.path().into(), body.clone()));
    if let Some(response) = treated(&shared, store).await {
        return response;
    }
    store();
    "ok".into_response()
}
