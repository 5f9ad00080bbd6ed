//! `POST /sessions/{target}/go`: shows a session's tmux pane to the person.

use std::path::Path;

use axum::Json;
use axum::extract::State;
use hub_protocol::{InboxName, Process, ProjectName};
use serde::Serialize;

use crate::core::command::Refusal;
use crate::http::error::{ApiError, Code};
use crate::http::request::caller::{Caller, CallerKind};
use crate::http::request::params::{Params, PathParam, ProjectParam};
use crate::hub::Hub;

mod located;
mod tmux;

use located::Located;
use tmux::Tmux;

/// The answer: the pane that is active now.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    pane: String,
    /// Whether a tmux client shows it. Without one, `attach` shows it in a new terminal.
    attached: bool,
    /// The command that shows it in a new terminal.
    attach: String,
}

/// Selects the pane in which a session runs, in the tmux client that the person used last.
pub(super) async fn go(
    State(hub): State<Hub>,
    PathParam(target): PathParam<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
    caller: Caller,
) -> Result<Json<Shown>, ApiError> {
    if caller.kind(&hub).await? != CallerKind::Person {
        return Err(Code::NeedsPerson.into());
    }
    let (process, pane) = place_of(&hub, &project, &target)?;
    let located = tokio::task::spawn_blocking(move || Located::find(&process));
    let located = located.await.ok().flatten().ok_or_else(|| {
        unreachable(
            "its process has ended, or runs on another machine, as another user or outside of tmux",
        )
    })?;
    let tmux = Tmux::connect(Path::new(&located.socket), &located.ancestors).await?;
    let inside: u32 = tmux
        .ask(&["display-message", "-p", "-t", &pane, "#{pane_pid}"])
        .await?;
    if !located.ancestors.contains(&inside) {
        return Err(unreachable(format!("pane {pane} runs another program now")));
    }
    let attached = tmux.show(&pane).await?;
    let attach = tmux.attach_command(&pane);
    Ok(Json(Shown {
        pane,
        attached,
        attach,
    }))
}

/// The process and the pane that a session reported.
fn place_of(
    hub: &Hub,
    project: &ProjectName,
    target: &InboxName,
) -> Result<(Process, String), ApiError> {
    let info = hub.read(|state, _| {
        let (project, key) = state.find_session(project, target)?;
        let session = state.session(&project, &key);
        Ok::<_, Refusal>(session.and_then(|it| it.info()).cloned())
    });
    let info = info??.unwrap_or_default();
    // An id of a pane is a percent sign and a number. Other texts would be targets of tmux with another meaning.
    let is_pane = |it: &String| {
        let number = it.strip_prefix('%').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let pane = info.pane.filter(is_pane);
    let pane = pane.ok_or_else(|| unreachable("it reported no tmux pane"))?;
    let process = info.process.filter(|it| it.started.is_some());
    let process = process.ok_or_else(|| unreachable("it reported no process"))?;
    Ok((process, pane))
}

/// The error for a session whose pane cannot be shown.
fn unreachable(why: impl std::fmt::Display) -> ApiError {
    ApiError::new(Code::PaneUnreachable, why)
}
