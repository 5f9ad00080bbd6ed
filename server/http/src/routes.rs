//! The HTTP API: one table of its routes, and one file a resource; openapi.yaml is the contract.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::FromRef;
use axum::handler::Handler as _;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use hub_engine::Hub;
use hub_protocol::About;
use serde::Serialize;
use tower_http::compression::CompressionLayer;

use crate::error::{ApiError, Code};
use crate::login::LoginState;
use about::AboutState;
use table::routes;

pub(crate) use table::is_for_phones;
pub use table::{Endpoint, Property, properties};

mod about;
pub mod answers;
mod assets;
mod conversation;
mod dashboard;
mod directory;
mod events;
mod go;
mod hello;
mod history;
mod hooks;
mod inboxes;
mod listeners;
mod login;
mod markdown;
pub mod needs;
pub mod notify;
mod preferences;
mod probes;
mod push;
pub mod questions;
mod refused;
mod rules;
mod seen;
pub mod sessions;
mod stats;
pub mod stored;
mod table;
mod thread;
mod timeline;
mod trace;
pub mod wait;
mod wake_note;
mod why;
mod withdraw;

/// Adds what other parts of the process know to the description of the hub.
pub type Describe = Box<dyn Fn(&mut About) + Send + Sync>;

/// The state of the handlers.
#[derive(Clone)]
struct ApiState(Arc<(AboutState, LoginState)>);

impl FromRef<ApiState> for Hub {
    fn from_ref(state: &ApiState) -> Self {
        state.0.0.hub.clone()
    }
}

impl FromRef<ApiState> for AboutState {
    fn from_ref(state: &ApiState) -> Self {
        state.0.0.clone()
    }
}

impl FromRef<ApiState> for LoginState {
    fn from_ref(state: &ApiState) -> Self {
        state.0.1.clone()
    }
}

/// The router with every route of a hub that keeps its files in `state_dir`.
pub fn router(hub: Hub, login: LoginState, state_dir: &Path, describe: Describe) -> Router {
    let about = AboutState {
        hub,
        state_dir: state_dir.into(),
        port: login.port,
        describe: Arc::from(describe),
    };
    handlers().with_state(ApiState(Arc::new((about, login))))
}

/// Adds the refusal of what only a hub in a cluster can do.
pub fn outside_a_cluster(routes: Router) -> Router {
    let refuse = || async { ApiError::from(Code::NoCluster) };
    routes.route("/cluster/handover", post(refuse))
}

// Other crates have the handlers of MCP and of the handover.
routes! {
    "/" => get(assets::page) [Public, Local];
    "/assets/{*path}" => get(assets::asset) [Public, Local];
    "/service-worker.js" => get(assets::service_worker) [Public, Local];
    "/dashboard" => get(dashboard::dashboard.layer(CompressionLayer::new()));
    "/hub" => get(about::about) [Local];
    "/hello" => get(hello::hello) [Public, Local];
    "/login" => post(login::login) [Public, Local];
    "/login/challenge" => post(login::challenge) [Public, Local];
    "/login/resume" => post(login::resume) [Public, Local];
    "/login/code" => post(login::code) [Local];
    "/login/phone" => post(login::phone) [Local];
    "/login/devices" => get(login::devices) [Local];
    "/login/push" => get(push::get) [Local], put(push::put) [Local, Reads], delete(push::delete) [Local, Reads];
    "/login/devices/{id}" => delete(login::remove) [Local];
    "/notify" => post(notify::notify) [Answers, AgentsOrigin];
    "/wait" => get(wait::wait) [Late, Takes], head(wait::head);
    "/events" => get(events::events) [Late, Local];
    "/directory" => get(directory::get) [Local];
    "/inboxes" => get(inboxes::list);
    "/inboxes/{inbox}" => delete(inboxes::close);
    "/inboxes/{inbox}/ack" => post(inboxes::ack);
    "/notifications" => get(history::list) [Late, InCopy], delete(withdraw::with_key) [Origin];
    "/notifications/{id}" => get(history::get) [InCopy], delete(withdraw::one) [Origin];
    "/notifications/{id}/trace" => get(trace::trace) [Late];
    "/notifications/{id}/seen" => put(seen::mark) [Answers], delete(seen::unmark) [Answers];
    "/seen" => post(seen::mark_many) [Answers];
    "/sessions" => get(sessions::list);
    "/sessions/{target}" => get(sessions::get), put(sessions::register) [Origin], delete(sessions::end) [Origin];
    "/sessions/{target}/conversation" => get(conversation::conversation);
    "/sessions/{target}/primary" => post(sessions::take_primary);
    "/sessions/{target}/go" => post(go::go);
    "/sessions/{target}/listeners/{caller}" => put(listeners::listen), delete(listeners::unlisten);
    "/sources" => get(sessions::sources);
    "/questions" => get(questions::list);
    "/questions/{id}" => get(questions::get) [Late];
    "/questions/{id}/claim" => post(questions::claim);
    "/questions/{id}/withdraw" => post(questions::withdraw) [Answers, Origin];
    "/needs" => get(needs::list);
    "/needs/{id}" => get(needs::get);
    "/needs/{id}/answer" => post(answers::answer) [Answers];
    "/needs/{id}/done" => post(needs::done) [Answers], delete(needs::undo) [Answers];
    "/needs/{id}/snooze" => post(needs::snooze) [Answers];
    "/needs/{id}/resume" => post(needs::resume) [Answers], delete(needs::wait) [Answers];
    "/markdown" => post(markdown::parse) [Late, Local, Reads];
    "/preferences" => get(preferences::get), put(preferences::put) [Answers];
    "/rules" => get(rules::list);
    "/rules/test" => post(rules::test) [Late];
    "/stats" => get(stats::stats) [Late];
    "/why/{target}" => get(why::why) [Late];
    "/timeline" => get(timeline::timeline);
    "/timeline/moment" => get(timeline::moment);
    "/hooks/{agent}" => post(hooks::hook) [Late, Origin];
    "/mcp" => post [Late, AgentsOrigin];
    "/projects/{project}/reset" => post(inboxes::reset);
    "/healthz" => get(probes::healthz) [Public, Local];
    "/readyz" => get(probes::readyz) [Public, Local];
    "/metrics" => get(probes::metrics) [Local];
    "/openapi.yaml" => get(probes::openapi) [Local];
    "/cluster/handover" => post [Local];
}

/// 201, or 200 if it existed before the request.
fn created_unless(existed: bool) -> StatusCode {
    if existed {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    }
}

/// A response with the JSON of `value`, written in one piece: axum's `Json` takes twice as long for a small one.
fn json_of(value: &impl Serialize) -> Response {
    json_response(serde_json::to_vec(value).expect("the answers of the API are JSON"))
}

/// A response with this JSON text.
fn json_response(json: impl Into<Body>) -> Response {
    let mut response = Response::new(json.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
