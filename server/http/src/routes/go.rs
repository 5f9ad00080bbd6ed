//! `POST /sessions/{target}/go`: shows a session's tmux pane to the person.

use axum::Json;
use axum::extract::State;
use hub_core::command::Refusal;
use hub_engine::Hub;
use hub_engine::tmux::{Pane, Unreachable};
use hub_protocol::{InboxName, ProjectName, SessionInfo, ShownPane};

use crate::error::{ApiError, Code};
use crate::request::caller::{Caller, CallerKind};
use crate::request::params::{Params, PathParam, ProjectParam};

/// Selects the pane in which a session runs, in the tmux client that the person used last.
pub(super) async fn go(
    State(hub): State<Hub>,
    PathParam(target): PathParam<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
    caller: Caller,
) -> Result<Json<ShownPane>, ApiError> {
    if caller.kind(&hub).await? != CallerKind::Person {
        return Err(Code::NeedsPerson.into());
    }
    let pane = Pane::find(info_of(&hub, &project, &target)?).await?;
    let attached = pane.show().await?;
    let attach = pane.attach_command();
    Ok(Json(ShownPane {
        pane: pane.id().to_owned(),
        attached,
        attach,
    }))
}

/// The properties that a session reported.
fn info_of(hub: &Hub, project: &ProjectName, target: &InboxName) -> Result<SessionInfo, ApiError> {
    let info = hub.read(|state, _| {
        let (project, key) = state.sessions.find(project, target)?;
        let session = state.sessions.get(&project, &key);
        Ok::<_, Refusal>(session.and_then(|it| it.info()).cloned())
    });
    Ok(info??.unwrap_or_default())
}

impl From<Unreachable> for ApiError {
    fn from(why: Unreachable) -> Self {
        Self::new(Code::PaneUnreachable, why)
    }
}
