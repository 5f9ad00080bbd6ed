//! `/sessions/{target}/listeners`: sessions that are notified of another session's next stop.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use hub_protocol::{InboxName, Listening, ProjectName, SessionState, Unlistened};
use serde::Deserialize;

use super::created_unless;
use crate::core::command::Command;
use crate::fold::State as Fold;
use crate::http::error::ApiError;
use crate::http::request::params::{Params, ProjectParam};
use crate::hub::Hub;

/// The longest deadline of an expectation, in seconds: a year.
const MAX_WITHIN: u64 = 366 * 24 * 3600;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
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
    let target = resolve(&hub, &project, target, within.is_some()).await?;
    let (of, to, by) = (project.clone(), target.clone(), caller.clone());
    let before = hub.query(move |state, _| listening(state, &of, &to, &by));
    let (known, _) = before.await?;
    let command = Command::Listen {
        project: project.clone(),
        target: target.clone(),
        caller: caller.clone(),
        within_ms: within.and_then(|seconds| i64::try_from(seconds * 1000).ok()),
        fresh: params.fresh,
    };
    let fired = !hub.submit(command).await?.ids.is_empty();
    let (of, to) = (project, target.clone());
    let after = hub.query(move |state, _| {
        let (_, session_state) = listening(state, &of, &to, &caller);
        (session_state, state.other_name(&of, &to).map(str::to_owned))
    });
    let (state, target_name) = after.await?;
    let answer = Listening {
        target,
        target_name,
        created: !known,
        fired,
        state,
    };
    Ok((created_unless(known), Json(answer)))
}

/// Resolves a target's name. A target that may be new is not matched as the beginning of another session's name.
async fn resolve(
    hub: &Hub,
    project: &ProjectName,
    name: InboxName,
    may_be_new: bool,
) -> Result<InboxName, ApiError> {
    let project = project.clone();
    let found = hub.query(move |state, _| {
        if may_be_new {
            return Ok(state.called(&project, &name).clone());
        }
        state.find_session(&project, &name).map(|(_, key)| key)
    });
    Ok(found.await??)
}

/// Whether `caller` listens to the target, and the target's state.
fn listening(
    state: &Fold,
    project: &ProjectName,
    target: &InboxName,
    caller: &InboxName,
) -> (bool, Option<SessionState>) {
    let caller = state.called(project, caller);
    let mut listeners = state.listeners(project, target);
    let open = listeners.any(|(by, _)| state.called(project, by) == caller);
    let session_state = state.session(project, target).and_then(|it| it.state);
    (open, session_state)
}

/// `DELETE /sessions/{target}/listeners/{caller}`: removes the listener.
pub(super) async fn unlisten(
    State(hub): State<Hub>,
    Path((target, caller)): Path<(String, String)>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Unlistened>, ApiError> {
    let (target, caller) = (name(&target)?, name(&caller)?);
    let target = resolve(&hub, &project, target, true).await?;
    let (of, to, by) = (project.clone(), target.clone(), caller.clone());
    let (removed, _) = hub
        .query(move |state, _| listening(state, &of, &to, &by))
        .await?;
    let command = Command::Unlisten {
        project,
        target,
        caller,
    };
    hub.submit(command).await?;
    Ok(Json(Unlistened { removed }))
}

fn name(text: &str) -> Result<InboxName, ApiError> {
    text.parse().map_err(ApiError::invalid)
}
