//! Probes, metrics and the contract.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::{ApiError, Code};
use crate::hub::Hub;
use crate::journal::Health;

const CONTRACT: &str = include_str!("../../../openapi.yaml");

/// The process lives.
pub(super) async fn healthz() -> Response {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#).into_response()
}

/// The writer answers and the storage is sound. The body says no more: anybody on this machine may ask.
pub(super) async fn readyz(State(hub): State<Hub>) -> Result<Response, ApiError> {
    hub.query(|_, _| ()).await?;
    if !matches!(hub.log().journal().health(), Health::Sound | Health::Full) {
        return Err(Code::NotReady.into());
    }
    Ok((
        [(CONTENT_TYPE, "application/json")],
        r#"{"status":"ready"}"#,
    )
        .into_response())
}

/// What is counted, for Prometheus.
pub(super) async fn metrics(State(hub): State<Hub>) -> Result<Response, ApiError> {
    let waiters = hub.query(|_, presence| presence.waiters()).await?;
    hub.metrics()
        .waiters
        .set(waiters.try_into().unwrap_or(i64::MAX));
    hub.metrics().journal_bytes.set(hub.log().journal().bytes());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], hub.metrics().text()).into_response())
}

/// The contract of this API.
pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/yaml")], CONTRACT).into_response()
}
