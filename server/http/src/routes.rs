//! The HTTP API: the router as a table of contents. One file a resource; openapi.yaml is the contract.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{delete, get, post, put};
use hub_engine::Hub;
use hub_protocol::About;
use tower_http::compression::CompressionLayer;

use crate::error::{ApiError, Code};
use crate::login::LoginState;

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
pub mod questions;
mod refused;
mod rules;
mod seen;
pub mod sessions;
mod stats;
pub mod stored;
mod thread;
mod timeline;
mod trace;
pub mod wait;
mod wake_note;
mod why;

/// Adds what other parts of the process know to the description of the hub.
pub type Describe = Box<dyn Fn(&mut About) + Send + Sync>;

/// The router with every route of a hub that keeps its files in `state_dir`.
pub fn router(hub: Hub, login: LoginState, state_dir: &Path, describe: Describe) -> Router {
    let about = about::AboutState {
        hub: hub.clone(),
        state_dir: state_dir.into(),
        port: login.port,
        describe: Arc::from(describe),
    };
    let hub_of_login = hub.clone();
    routes_of_the_hub()
        .with_state(hub)
        .route(
            "/dashboard",
            get(dashboard::dashboard)
                .with_state((about.clone(), login.clone()))
                .layer(CompressionLayer::new()),
        )
        .route("/hub", get(about::about).with_state(about))
        .route("/hello", get(hello::hello).with_state(login.clone()))
        .merge(routes_of_persons().with_state((hub_of_login, login.clone())))
        .merge(routes_of_sign_in().with_state(login))
}

/// Adds the refusal of what only a hub in a cluster can do.
pub fn outside_a_cluster(routes: Router) -> Router {
    let refuse = || async { ApiError::from(Code::NoCluster) };
    routes.route("/cluster/handover", post(refuse))
}

#[rustfmt::skip]
fn routes_of_sign_in() -> Router<LoginState> {
    Router::new()
        .route("/login", post(login::login))
        .route("/login/challenge", post(login::challenge))
        .route("/login/resume", post(login::resume))
        .route("/login/devices", get(login::devices))
}

/// The routes of sign-in that look at who calls.
#[rustfmt::skip]
fn routes_of_persons() -> Router<(Hub, LoginState)> {
    Router::new()
        .route("/login/code", post(login::code))
        .route("/login/devices/{id}", delete(login::remove))
}

#[rustfmt::skip]
fn routes_of_the_hub() -> Router<Hub> {
    Router::new()
        .route("/", get(assets::page))
        .route("/assets/{*path}", get(assets::asset))
        .route("/service-worker.js", get(assets::service_worker))
        .route("/notify", post(notify::notify))
        .route("/wait", get(wait::wait).head(wait::head))
        .route("/events", get(events::events))
        .route("/directory", get(directory::get))
        .route("/inboxes", get(inboxes::list))
        .route("/inboxes/{inbox}", delete(inboxes::close))
        .route("/inboxes/{inbox}/ack", post(inboxes::ack))
        .route("/notifications", get(history::list).delete(history::withdraw_key))
        .route("/notifications/{id}", get(history::get).delete(history::withdraw))
        .route("/notifications/{id}/trace", get(trace::trace))
        .route("/notifications/{id}/seen", put(seen::mark).delete(seen::unmark))
        .route("/seen", post(seen::mark_many))
        .route("/sessions", get(sessions::list))
        .route("/sessions/{target}", get(sessions::get).put(sessions::register).delete(sessions::end))
        .route("/sessions/{target}/conversation", get(conversation::conversation))
        .route("/sessions/{target}/primary", post(sessions::take_primary))
        .route("/sessions/{target}/go", post(go::go))
        .route("/sessions/{target}/listeners/{caller}", put(listeners::listen).delete(listeners::unlisten))
        .route("/sources", get(sessions::sources))
        .route("/questions", get(questions::list))
        .route("/questions/{id}", get(questions::get))
        .route("/questions/{id}/claim", post(questions::claim))
        .route("/questions/{id}/withdraw", post(questions::withdraw))
        .route("/needs", get(needs::list))
        .route("/needs/{id}", get(needs::get))
        .route("/needs/{id}/answer", post(answers::answer))
        .route("/needs/{id}/done", post(needs::done).delete(needs::undo))
        .route("/needs/{id}/snooze", post(needs::snooze))
        .route("/markdown", post(markdown::parse))
        .route("/preferences", get(preferences::get).put(preferences::put))
        .route("/rules", get(rules::list))
        .route("/rules/test", post(rules::test))
        .route("/stats", get(stats::stats))
        .route("/why/{target}", get(why::why))
        .route("/timeline", get(timeline::timeline))
        .route("/timeline/moment", get(timeline::moment))
        .route("/hooks/{agent}", post(hooks::hook))
        .route("/projects/{project}/reset", post(inboxes::reset))
        .route("/healthz", get(probes::healthz))
        .route("/readyz", get(probes::readyz))
        .route("/metrics", get(probes::metrics))
        .route("/openapi.yaml", get(probes::openapi))
}

/// 201, or 200 if it existed before the request.
fn created_unless(existed: bool) -> StatusCode {
    if existed {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    }
}

/// A response with this JSON text.
fn json_response(json: impl Into<Body>) -> Response {
    let mut response = Response::new(json.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
