//! `/sessions/{target}/listeners`: sessions that are notified of another session's next stop.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use hub_core::command::Command;
use hub_engine::Hub;
use hub_protocol::{InboxName, Listening, ProjectName, Unlistened};
use serde::Deserialize;

use super::created_unless;
use crate::error::ApiError;
use crate::request::params::{Params, ProjectParam};

/// The longest deadline of an expectation, in seconds: a year.
const MAX_WITHIN: u64 = 366 * 24 * 3600;

#[derive(Debug, Deserialize)]
pub(super) struct ListenParams {
    #[serde(default)]
    project: ProjectName,
    within: Option<u64>,
    #[serde(default)]
    fresh: bool,
}

/// `PUT /sessions/{target}/listeners/{caller}`: notifies `caller` of the next stop of `target`.
pub(super) async fn listen(
    State(hub): State<Hub>,
    Path((target, caller)): Path<(String, String)>,
    Params(params): Params<ListenParams>,
) -> Result<(StatusCode, Json<Listening>), ApiError> {
    let (project, within) = (params.project, params.within);
    if within.is_some_and(|seconds| seconds == 0 || seconds > MAX_WITHIN) {
        return Err(ApiError::invalid("within is 1 to 31622400 seconds"));
    }
    let (target, caller) = (name(&target)?, name(&caller)?);
    let target = resolve(&hub, &project, &target, within.is_some())?;
    let command = Command::Listen {
        project: project.clone(),
        target: target.clone(),
        caller: caller.clone(),
        within_ms: within.and_then(|seconds| i64::try_from(seconds * 1000).ok()),
        fresh: params.fresh,
    };
    let done = hub.submit(command).await?;
    let (state, target_name, listens) = hub.read(|state, _| {
        let session = state.sessions.get(&project, &target);
        let name = state.sessions.other_name(&project, &target);
        let listens = state.listens(&project, &target, &caller);
        (
            session.and_then(|it| it.state),
            name.map(str::to_owned),
            listens,
        )
    })?;
    let answer = Listening {
        target,
        target_name,
        created: !done.existed,
        fired: !listens,
        state,
    };
    Ok((created_unless(done.existed), Json(answer)))
}

/// Resolves a target's name. A target that may be new is not matched as the beginning of another session's name.
fn resolve(
    hub: &Hub,
    project: &ProjectName,
    name: &InboxName,
    may_be_new: bool,
) -> Result<InboxName, ApiError> {
    let found = hub.read(|state, _| {
        if may_be_new {
            return Ok(state.sessions.resolve(project, name).clone());
        }
        state.sessions.find(project, name).map(|(_, key)| key)
    });
    Ok(found??)
}

/// `DELETE /sessions/{target}/listeners/{caller}`: removes the listener.
pub(super) async fn unlisten(
    State(hub): State<Hub>,
    Path((target, caller)): Path<(String, String)>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Unlistened>, ApiError> {
    let (target, caller) = (name(&target)?, name(&caller)?);
    let target = resolve(&hub, &project, &target, true)?;
    let command = Command::Unlisten {
        project,
        target,
        caller,
    };
    let removed = hub.submit(command).await?.existed;
    Ok(Json(Unlistened { removed }))
}

fn name(text: &str) -> Result<InboxName, ApiError> {
    text.parse().map_err(ApiError::invalid)
}
