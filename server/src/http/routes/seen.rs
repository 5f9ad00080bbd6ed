//! The person's read marks: one set for the whole hub, reversible, without effect on inboxes.

use axum::Json;
use axum::extract::State;
use hub_protocol::{SeenRequest, Seq};
use serde::Serialize;

use crate::core::command::Command;
use crate::http::error::{ApiError, Code};
use crate::http::request::params::PathParam;
use crate::http::request::payload::Payload;
use crate::hub::Hub;

const MAX_IDS: usize = 1000;

#[derive(Debug, Serialize)]
pub(super) struct SeenReply {
    seen: bool,
}

/// `PUT /notifications/{id}/seen`: marks one notification as read.
pub(super) async fn mark(hub: State<Hub>, id: PathParam<Seq>) -> Result<Json<SeenReply>, ApiError> {
    set(&hub, vec![id.0], None, true).await
}

/// `DELETE /notifications/{id}/seen`: removes the mark.
pub(super) async fn unmark(
    hub: State<Hub>,
    id: PathParam<Seq>,
) -> Result<Json<SeenReply>, ApiError> {
    set(&hub, vec![id.0], None, false).await
}

/// `POST /seen`: marks the given notifications, or all up to one id.
pub(super) async fn mark_many(
    hub: State<Hub>,
    payload: Payload,
) -> Result<Json<SeenReply>, ApiError> {
    let body: SeenRequest = payload.json()?;
    let ids = body.ids.as_ref().map(Vec::len);
    let none = ids.is_none() && body.up_to.is_none();
    if none || ids.is_some_and(|ids| !(1..=MAX_IDS).contains(&ids)) {
        return Err(ApiError::invalid(format!(
            "give 1 to {MAX_IDS} ids, or up_to"
        )));
    }
    if body.up_to == Some(0) {
        return Err(ApiError::invalid("up_to is at least 1"));
    }
    let ids = body.ids.unwrap_or_default();
    set(&hub, ids, body.up_to, body.seen).await
}

async fn set(
    hub: &Hub,
    ids: Vec<Seq>,
    up_to: Option<Seq>,
    seen: bool,
) -> Result<Json<SeenReply>, ApiError> {
    if ids.contains(&0) {
        return Err(ApiError::new(
            Code::UnknownNotification,
            "no notification 0",
        ));
    }
    hub.submit(Command::Seen { ids, up_to, seen }).await?;
    Ok(Json(SeenReply { seen }))
}
