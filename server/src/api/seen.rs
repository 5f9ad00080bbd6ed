//! The person's marks: one set for the hub, undoable, without effect on inboxes.

use axum::Json;
use axum::extract::State;
use hub_protocol::Seq;
use serde::{Deserialize, Serialize};

use super::params::Part;
use super::payload::Payload;
use super::{ApiError, Code};
use crate::command::Command;
use crate::hub::Hub;

const MAX_IDS: usize = 1000;

/// Marks for many.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeenBody {
    #[serde(default)]
    ids: Vec<Seq>,
    up_to: Option<Seq>,
    seen: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct SeenReply {
    seen: bool,
}

/// Marks one as seen.
pub(super) async fn mark(hub: State<Hub>, id: Part<Seq>) -> Result<Json<SeenReply>, ApiError> {
    set(&hub, vec![id.0], None, true).await
}

/// Takes the mark back.
pub(super) async fn unmark(hub: State<Hub>, id: Part<Seq>) -> Result<Json<SeenReply>, ApiError> {
    set(&hub, vec![id.0], None, false).await
}

/// Marks many, or all up to one.
pub(super) async fn mark_many(
    hub: State<Hub>,
    payload: Payload,
) -> Result<Json<SeenReply>, ApiError> {
    let body: SeenBody = payload.json()?;
    if body.ids.len() > MAX_IDS || (body.ids.is_empty() && body.up_to.is_none()) {
        return Err(ApiError::invalid(format!(
            "give 1 to {MAX_IDS} ids, or up_to"
        )));
    }
    set(&hub, body.ids, body.up_to, body.seen).await
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
