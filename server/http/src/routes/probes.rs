//! Health probes, metrics and the API contract.

use std::sync::atomic::Ordering::Relaxed;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use hub_engine::Hub;
use hub_log::journal::Health;
use hub_protocol::Ready;

use super::json_response;
use crate::error::{ApiError, Code};

const CONTRACT: &str = include_str!("../../../../openapi.yaml");

/// `GET /healthz`: the process is alive.
pub(super) async fn healthz() -> Response {
    json_response(r#"{"status":"ok"}"#)
}

/// `GET /readyz`: the writer answers, the storage is healthy, and there is room to publish. The body has few details,
/// because any user of this machine may ask.
pub(super) async fn readyz(State(hub): State<Hub>) -> Result<Response, ApiError> {
    hub.ping().await?;
    match hub.log().journal().health() {
        Health::Sound | Health::Standby => {}
        Health::Full => {
            let detail = "the disk is full: publishes are refused";
            return Err(ApiError::new(Code::NotReady, detail));
        }
        Health::Corrupt { .. } | Health::Failed(_) => return Err(Code::NotReady.into()),
    }
    let (unread, unreadable) =
        hub.read(|state, _| (state.losses.unread(), state.questions.has_unreadable()))?;
    let unread =
        unread.map(|it| format!("{} notifications that nobody had read were lost", it.count));
    let unreadable = unreadable.then(|| "records of the log cannot be read any more".to_owned());
    let repaired = hub.log().journal().repairs().count() > 0;
    let repaired =
        repaired.then(|| "a damaged copy of records was repaired from the other".to_owned());
    let told = unread.into_iter().chain(unreadable).chain(repaired);
    let told: Vec<String> = told.collect();
    let detail = (!told.is_empty()).then(|| told.join("; "));
    Ok(Json(Ready {
        status: "ready".into(),
        detail,
    })
    .into_response())
}

/// `GET /metrics`: the metrics, in Prometheus' text format.
pub(super) async fn metrics(State(hub): State<Hub>) -> Result<Response, ApiError> {
    let waiters = hub.waiters().read().waiters();
    hub.metrics()
        .waiters
        .set(waiters.try_into().unwrap_or(i64::MAX));
    let journal = hub.log().journal();
    hub.metrics().journal_bytes.set(journal.bytes());
    let repairs = journal.repairs().count();
    hub.metrics().repairs.inner().store(repairs, Relaxed);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], hub.metrics().text()).into_response())
}

/// `GET /openapi.yaml`: the contract of this API.
pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/yaml")], CONTRACT).into_response()
}
