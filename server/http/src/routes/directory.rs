//! `GET /directory`: the project of a directory of this machine.

use axum::Json;
use axum::extract::State;
use hub_engine::Hub;
use hub_protocol::git::Directory;

use crate::error::ApiError;
use crate::request::directory::{self, DirectoryParams};
use crate::request::params::Params;

/// What git says about the directory.
pub(super) async fn get(
    State(hub): State<Hub>,
    Params(params): Params<DirectoryParams>,
) -> Result<Json<Directory>, ApiError> {
    Ok(Json(directory::directory(&hub, params).await?))
}
