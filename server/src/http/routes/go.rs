//! `POST /sessions/{target}/go`: shows a session's tmux pane to the person.

use axum::Json;
use axum::extract::State;
use hub_protocol::{InboxName, ProjectName, SessionInfo, ShownPane};

use crate::core::command::Refusal;
use crate::http::error::{ApiError, Code};
use crate::http::request::caller::{Caller, CallerKind};
use crate::http::request::params::{Params, PathParam, ProjectParam};
use crate::hub::Hub;
use crate::tmux::{Pane, Unreachable};

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
        let (project, key) = state.find_session(project, target)?;
        let session = state.session(&project, &key);
        Ok::<_, Refusal>(session.and_then(|it| it.info()).cloned())
    });
    Ok(info??.unwrap_or_default())
}

impl From<Unreachable> for ApiError {
    fn from(why: Unreachable) -> Self {
        Self::new(Code::PaneUnreachable, why)
    }
}
