//! `/login/push`: the Web Push subscription of the device that asks.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use hub_core::time::Now;
use serde::Serialize;

use super::login::blocking;
use crate::error::ApiError;
use crate::login::{DashboardSession, LoginState, PushSubscription};
use crate::request::payload::Payload;

#[derive(Serialize)]
pub(super) struct PushReply {
    /// The hub's public key.
    key: String,
    subscribed: bool,
}

/// `GET /login/push`: the hub's key, and whether the hub pushes to the device.
pub(super) async fn get(
    State(login): State<LoginState>,
    session: Option<Extension<DashboardSession>>,
) -> Json<PushReply> {
    let target = session.and_then(|it| login.devices.push_target(it.id(), Now::read()));
    Json(PushReply {
        key: login.push_key.to_string(),
        subscribed: target.is_some(),
    })
}

/// `PUT /login/push`: stores the subscription of the device.
pub(super) async fn put(
    State(login): State<LoginState>,
    session: Option<Extension<DashboardSession>>,
    payload: Payload,
) -> Result<StatusCode, ApiError> {
    let id = own(session)?;
    let subscription: PushSubscription = payload.json()?;
    subscription.check().map_err(ApiError::invalid)?;
    let now = Now::read();
    blocking(move || login.devices.subscribe(&id, &subscription, now)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /login/push`: ends the subscription of the device.
pub(super) async fn delete(
    State(login): State<LoginState>,
    session: Option<Extension<DashboardSession>>,
) -> Result<StatusCode, ApiError> {
    let id = own(session)?;
    blocking(move || login.devices.unsubscribe(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The id of the device that asks.
fn own(session: Option<Extension<DashboardSession>>) -> Result<String, ApiError> {
    let session = session.ok_or_else(|| {
        ApiError::invalid("only a browser that is signed in to the dashboard has a subscription")
    })?;
    Ok(session.id().to_owned())
}
