//! `/sessions`: the sessions and their states; `/sources`: the other senders.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub_core::command::{Command, Refusal};
use hub_core::fold::Question;
use hub_core::notification::is_longer;
use hub_engine::{Hub, phase, sessions};
use hub_protocol::{InboxName, ProjectName, Session, SessionInfo, Sessions, Source};
use serde::{Deserialize, Serialize};

use super::{created_unless, refused};
use crate::error::{ApiError, Code};
use crate::request::caller::Caller;
use crate::request::evidence::Witness;
use crate::request::local::{LocalClaim, Origin};
use crate::request::params::{Params, PathParam, ProjectFilter, ProjectParam};
use crate::request::payload::Payload;

/// Longest text field of a session's registration, in characters.
const MAX_TEXT: usize = 4096;

/// The query of `GET /sessions`.
#[derive(Debug, Default, Deserialize)]
pub struct SessionListParams {
    /// The sessions of one project only.
    pub project: Option<ProjectName>,
    #[serde(default)]
    /// Also those that have ended.
    pub all: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct RegisterParams {
    #[serde(default)]
    project: ProjectName,
    #[serde(default)]
    runs: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct EndParams {
    #[serde(default)]
    project: ProjectName,
    #[serde(default)]
    quiet: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct SourceList {
    sources: Vec<Source>,
}

/// `GET /sessions`: the sessions of a project, or all. Sessions that have ended are included on demand only, except one
/// that died at work and that the person has not seen yet.
pub async fn list(
    State(hub): State<Hub>,
    Params(SessionListParams { project, all }): Params<SessionListParams>,
) -> Result<Json<Sessions>, ApiError> {
    Ok(Json(sessions::list(&hub, project, all).await?))
}

pub(super) async fn get(
    State(hub): State<Hub>,
    PathParam(target): PathParam<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Session>, ApiError> {
    Ok(Json(find(&hub, &project, &target).await?))
}

/// Finds a session and returns its current state.
async fn find(hub: &Hub, project: &ProjectName, name: &InboxName) -> Result<Session, ApiError> {
    let found = hub.read(|state, waiters| {
        let place = state.sessions.find(project, name)?;
        let session = state.sessions.get(&place.0, &place.1);
        Ok::<_, Refusal>(session.map(|it| {
            let phase = phase::find(state, waiters, &place, it);
            (sessions::shown(state, waiters, &place, it, &phase), phase)
        }))
    });
    // `Sessions::find` returns only the places of known sessions.
    let (session, phase) = found??.ok_or(Code::Internal)?;
    let phase = phase::with_texts(hub, vec![phase]).await?.into_iter();
    Ok(Session {
        phase: phase.last().unwrap_or_default(),
        ..session
    })
}

/// `PUT /sessions/{target}`: registers a session, or updates its registration.
pub(super) async fn register(
    State(hub): State<Hub>,
    PathParam(session): PathParam<InboxName>,
    Params(RegisterParams { project, runs }): Params<RegisterParams>,
    origin: Origin,
    payload: Payload,
) -> Result<(StatusCode, Json<Session>), ApiError> {
    let mut info: Box<SessionInfo> = payload.json()?;
    check(&info)?;
    if session.is_reserved() {
        let detail = format!("'{session}' is reserved: a session has a name of its own");
        return Err(ApiError::invalid(detail));
    }
    let place = hub.read(|state, _| {
        let key = state.sessions.registered_as(&project, &session, runs);
        (project.clone(), key.clone())
    })?;
    let confirmed = LocalClaim::take(&mut info).confirm(&hub, &origin, &place)?;
    confirmed.fill(&mut info);
    let command = Command::Register {
        project: project.clone(),
        session: session.clone(),
        info,
        runs,
    };
    let existed = hub.submit(command).await?.existed;
    Ok((
        created_unless(existed),
        Json(find(&hub, &project, &session).await?),
    ))
}

fn check(info: &SessionInfo) -> Result<(), ApiError> {
    let texts = [
        &info.name,
        &info.agent,
        &info.host,
        &info.cwd,
        &info.role,
        &info.branch,
        &info.repository,
        &info.pane,
        &info.title,
    ];
    let boot_id = info.process.as_ref().map(|it| &it.boot_id);
    let texts = texts.into_iter().chain(boot_id).flatten();
    let long = texts.into_iter().any(|text| is_longer(text, MAX_TEXT));
    let metadata = info.metadata.as_ref().map_or(0, |it| it.to_string().len());
    if long || metadata > 16 * 1024 {
        return Err(ApiError::invalid(
            "a session's texts have at most 4,096 characters each, its metadata 16 KiB",
        ));
    }
    Ok(())
}

/// Submits a change of a session and returns the session after it.
async fn change(
    hub: &Hub,
    command: Command,
    project: ProjectName,
    session: InboxName,
) -> Result<Json<Session>, ApiError> {
    hub.submit(command).await?;
    Ok(Json(find(hub, &project, &session).await?))
}

/// `DELETE /sessions/{target}`: ends a session.
pub(super) async fn end(
    State(hub): State<Hub>,
    PathParam(session): PathParam<InboxName>,
    Params(EndParams { project, quiet }): Params<EndParams>,
    (caller, witness): (Caller, Witness),
    origin: Origin,
) -> Result<Json<Session>, ApiError> {
    let is_kept = |it: &Question, runs| it.is_kept_for_person() && runs != Some(true);
    let is_others = |it: &Question, runs| quiet && it.is_for_person() && runs == Some(false);
    let (kept, others) = hub.read(|state, _| {
        // A name may be only the beginning of the session's.
        let place = state.sessions.find(&project, &session)?;
        let kept = refused::kept_question(state, &place, &origin, is_kept);
        let others = refused::kept_question(state, &place, &origin, is_others);
        Ok::<_, Refusal>((kept, others))
    })??;
    refused::demand_person(&hub, (caller, &witness), kept).await?;
    if let Some(asked) = others {
        let allowed = caller.refuse_agents(&hub).await;
        refused::withdraw(&hub, &witness, asked, allowed).await?;
    }
    let command = Command::End {
        project: project.clone(),
        session: session.clone(),
        exited: false,
        process: None,
        quiet,
    };
    change(&hub, command, project, session).await
}

/// `POST /sessions/{target}/primary`: makes a session its project's primary.
pub(super) async fn take_primary(
    State(hub): State<Hub>,
    PathParam(session): PathParam<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Session>, ApiError> {
    let command = Command::TakePrimary {
        project: project.clone(),
        session: session.clone(),
    };
    change(&hub, command, project, session).await
}

/// `GET /sources`: senders that are not sessions, because they never reported a state.
pub(super) async fn sources(
    State(hub): State<Hub>,
    Params(ProjectFilter { project }): Params<ProjectFilter>,
) -> Result<Json<SourceList>, ApiError> {
    let sources = hub.read(|state, _| state.sources(project.as_ref()))?;
    Ok(Json(SourceList { sources }))
}
