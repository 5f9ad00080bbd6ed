//! `/sessions`: the sessions and their states; `/sources`: the other senders.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub_protocol::{
    InboxName, Listener, Phase, ProjectName, Seq, Session, SessionInfo, SessionState, Sessions,
    Source, Timestamp, Wake,
};
use serde::{Deserialize, Serialize};

use super::{created_unless, phase, refused};
use crate::core::command::{Command, Refusal};
use crate::core::notification::is_longer;
use crate::fold::{Inbox, Question, Session as FoldSession, SessionKey, State as Fold};
use crate::http::error::{ApiError, Code};
use crate::http::request::caller::Caller;
use crate::http::request::evidence::Witness;
use crate::http::request::local::{LocalClaim, Origin};
use crate::http::request::params::{Params, PathParam, ProjectFilter, ProjectParam};
use crate::http::request::payload::Payload;
use crate::hub::Hub;
use crate::waiters::SharedWaiters;

/// A working session counts as silent after this many milliseconds without an event.
const SILENT_MS: i64 = 10 * 60 * 1000;
/// Longest text field of a session's registration, in characters.
const MAX_TEXT: usize = 4096;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionListParams {
    pub(super) project: Option<ProjectName>,
    #[serde(default)]
    pub(super) all: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
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
pub(super) async fn list(
    State(hub): State<Hub>,
    Params(SessionListParams { project, all }): Params<SessionListParams>,
) -> Result<Json<Sessions>, ApiError> {
    let known = hub.read(|state, _| state.sessions(project.as_ref()).count())?;
    let found = hub.list(move |state, waiters| {
        let found = state.sessions(project.as_ref());
        let found = found.map(|(project, key, session)| {
            let place = (project.clone(), key.clone());
            (phase::find(state, waiters, &place, session), place, session)
        });
        found
            .filter(|(phase, ..)| all || !phase.is_gone())
            .map(|(phase, place, session)| (shown(state, waiters, &place, session), phase))
            .collect::<Vec<_>>()
    });
    let (mut sessions, phases): (Vec<_>, Vec<_>) = found.await?.into_iter().unzip();
    let phases = phase::with_texts(&hub, phases).await?;
    for (session, phase) in sessions.iter_mut().zip(phases) {
        session.phase = phase;
    }
    let ended = known.saturating_sub(sessions.len());
    Ok(Json(Sessions { sessions, ended }))
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
        let place = state.find_session(project, name)?;
        let session = state.session(&place.0, &place.1);
        Ok::<_, Refusal>(session.map(|it| {
            let phase = phase::find(state, waiters, &place, it);
            (shown(state, waiters, &place, it), phase)
        }))
    });
    // `find_session` returns only the places of known sessions.
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
    Params(ProjectParam { project }): Params<ProjectParam>,
    origin: Origin,
    payload: Payload,
) -> Result<(StatusCode, Json<Session>), ApiError> {
    let mut info: Box<SessionInfo> = payload.json()?;
    check(&info)?;
    if session.is_reserved() {
        let detail = format!("'{session}' is reserved: a session has a name of its own");
        return Err(ApiError::invalid(detail));
    }
    let place = (project.clone(), session.clone());
    let confirmed = LocalClaim::take(&mut info).confirm(&hub, &origin, place)?;
    confirmed.fill(&mut info);
    let command = Command::Register {
        project: project.clone(),
        session: session.clone(),
        info,
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
    let kept = kept_question(&hub, &origin, (project.clone(), session.clone()))?;
    refused::demand_person(&hub, (caller, &witness), kept).await?;
    let command = Command::End {
        project: project.clone(),
        session: session.clone(),
        exited: false,
        process: None,
        quiet,
    };
    change(&hub, command, project, session).await
}

/// A question that is kept for a person, and that would end with this session. What runs below the session's process may end it.
fn kept_question(
    hub: &Hub,
    origin: &Origin,
    (project, session): SessionKey,
) -> Result<Option<Seq>, ApiError> {
    Ok(hub.read(|state, _| {
        let (project, key) = state.resolve_key(project, session);
        let own = state.session(&project, &key);
        let process = own.and_then(|it| it.info()?.process.clone());
        let is_own = process.is_some_and(|it| origin.0.as_ref().is_some_and(|by| by.has(&it)));
        let is_kept = |it: &Question| it.from == key && it.is_kept_for_person();
        let kept = state.open_question_of(&project, is_kept);
        kept.filter(|_| !is_own)
    })?)
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

/// The session as the API shows it, without its phase.
fn shown(
    state: &Fold,
    waiters: &SharedWaiters,
    place: &SessionKey,
    session: &FoldSession,
) -> Session {
    let (project, key) = place;
    let info = session.info().cloned().unwrap_or_default();
    let last_seen = [waiters.read().seen(project, key), Some(session.ts)];
    let last_seen = last_seen.into_iter().flatten().max();
    let age = last_seen.map_or(0, |at| Timestamp::now().as_millis() - at.as_millis());
    let works = session.state == Some(SessionState::Working) && session.is_alive();
    let listeners = state.listeners(project, key);
    let waiter = waiters.read().holder(project, key);
    let unreachable = waiters
        .read()
        .unreachable(place)
        .map(|(_, why)| why.to_owned());
    let wake = match waiter {
        Some(_) => Wake::Live,
        None if !session.is_alive() => Wake::None,
        None if session.has_hooks() || waiters.read().waited(project, key) => Wake::Stale,
        None => Wake::None,
    };
    Session {
        id: key.clone(),
        aliases: session
            .registered
            .as_ref()
            .map(|it| it.other_names().cloned().collect())
            .unwrap_or_default(),
        name: session.shown_name().unwrap_or(key.as_str()).to_owned(),
        project: project.clone(),
        info: SessionInfo { name: None, ..info },
        primary: state.primary(project) == Some(key),
        phase: Phase::default(),
        state: session.state,
        evidence: (!session.evidence.is_empty()).then(|| session.evidence.clone()),
        since: session.state.map(|_| session.ts),
        gone: session.crashed,
        silent: works && age > SILENT_MS,
        last_seen,
        last: session.last,
        pending: state.inbox(project, key).map_or(0, Inbox::len) as u64,
        waiter,
        wake,
        unreachable: unreachable.filter(|_| session.is_alive()),
        listeners: listeners
            .map(|(caller, it)| Listener {
                caller: caller.clone(),
                since: it.since,
                until: it.until,
            })
            .collect(),
    }
}
