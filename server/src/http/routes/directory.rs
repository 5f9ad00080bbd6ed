//! `GET /directory`: the project of a directory of this machine.

use axum::Json;
use axum::extract::State;
use hub_protocol::git::Directory;

use crate::http::error::ApiError;
use crate::http::request::directory::{self, DirectoryParams};
use crate::http::request::params::Params;
use crate::hub::Hub;

/// What git says about the directory.
pub(super) async fn get(
    State(hub): State<Hub>,
    Params(params): Params<DirectoryParams>,
) -> Result<Json<Directory>, ApiError> {
    Ok(Json(directory::directory(&hub, params).await?))
}
