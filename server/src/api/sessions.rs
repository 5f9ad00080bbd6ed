//! `/sessions`: the sessions, their states, and their listeners.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use hub_protocol::{
    InboxName, Listener, Listening, ProjectName, Session, SessionInfo, SessionState, Sessions,
    Source, Timestamp, Unlistened, Wake,
};
use serde::{Deserialize, Serialize};

use super::params::{Params, Part, ProjectParam};
use super::payload::Payload;
use super::{ApiError, Code};
use crate::command::{Command, Refusal};
use crate::draft::is_longer;
use crate::hub::Hub;
use crate::presence::Presence;
use crate::state::{Inbox, Session as Known, State as Fold};

/// A working session counts as silent after this many milliseconds without an event.
const SILENT_MS: i64 = 10 * 60 * 1000;
/// The longest deadline of an expectation, in seconds: a year.
const MAX_WITHIN: u64 = 366 * 24 * 3600;
/// Longest text field of a session's registration, in characters.
const MAX_TEXT: usize = 4096;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    project: Option<ProjectName>,
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceParams {
    project: Option<ProjectName>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListenParams {
    #[serde(default)]
    project: ProjectName,
    within: Option<u64>,
    #[serde(default)]
    fresh: bool,
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
pub(super) struct Sources {
    sources: Vec<Source>,
}

/// `GET /sessions`: the sessions of a project, or all. Sessions that are over are included on demand only.
pub(super) async fn list(
    State(hub): State<Hub>,
    Params(ListParams { project, all }): Params<ListParams>,
) -> Result<Json<Sessions>, ApiError> {
    let sessions = hub
        .query(move |state, presence| {
            let found = state.sessions(project.as_ref());
            found
                .filter(|(_, _, session)| all || session.is_alive())
                .map(|(project, key, session)| shown(state, presence, (project, key), session))
                .collect()
        })
        .await?;
    Ok(Json(Sessions { sessions }))
}

pub(super) async fn get(
    State(hub): State<Hub>,
    Part(target): Part<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Session>, ApiError> {
    Ok(Json(find(&hub, project, target).await?))
}

/// Finds a session and returns its current state.
async fn find(hub: &Hub, project: ProjectName, name: InboxName) -> Result<Session, ApiError> {
    let found = hub.query(move |state, presence| {
        let (project, key) = state.find_session(&project, &name)?;
        let session = state.session(&project, &key);
        Ok::<_, Refusal>(session.map(|it| shown(state, presence, (&project, &key), it)))
    });
    // `find_session` returns only the places of known sessions.
    found.await??.ok_or(Code::Internal.into())
}

/// `PUT /sessions/{target}`: registers a session, or updates its registration.
pub(super) async fn register(
    State(hub): State<Hub>,
    Part(session): Part<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
    payload: Payload,
) -> Result<(StatusCode, Json<Session>), ApiError> {
    let info: SessionInfo = payload.json()?;
    check(&info)?;
    if session.is_reserved() {
        let detail = format!("'{session}' is reserved: a session has a name of its own");
        return Err(ApiError::invalid(detail));
    }
    let (of, id) = (project.clone(), session.clone());
    let known = hub
        .query(move |state, _| state.session(&of, state.called(&of, &id)).is_some())
        .await?;
    let command = Command::Register {
        project: project.clone(),
        session: session.clone(),
        info,
    };
    hub.submit(command).await?;
    let status = if known {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok((status, Json(find(&hub, project, session).await?)))
}

fn check(info: &SessionInfo) -> Result<(), ApiError> {
    let texts = [
        &info.name,
        &info.agent,
        &info.host,
        &info.cwd,
        &info.role,
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

/// `DELETE /sessions/{target}`: ends a session.
pub(super) async fn end(
    State(hub): State<Hub>,
    Part(session): Part<InboxName>,
    Params(EndParams { project, quiet }): Params<EndParams>,
) -> Result<Json<Session>, ApiError> {
    let command = Command::End {
        project: project.clone(),
        session: session.clone(),
        gone: false,
        quiet,
    };
    hub.submit(command).await?;
    Ok(Json(find(&hub, project, session).await?))
}

/// `POST /sessions/{target}/primary`: makes a session its project's primary.
pub(super) async fn take_primary(
    State(hub): State<Hub>,
    Part(session): Part<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Session>, ApiError> {
    let command = Command::TakePrimary {
        project: project.clone(),
        session: session.clone(),
    };
    hub.submit(command).await?;
    Ok(Json(find(&hub, project, session).await?))
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
    let target = target_of(&hub, &project, target, within.is_some()).await?;
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
        let (_, doing) = listening(state, &of, &to, &caller);
        (doing, state.other_name(&of, &to).map(str::to_owned))
    });
    let (state, target_name) = after.await?;
    let answer = Listening {
        target,
        target_name,
        created: !known,
        fired,
        state,
    };
    let status = if known {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok((status, Json(answer)))
}

/// Resolves a target's name. A target that may be new is not matched as the beginning of another session's name.
async fn target_of(
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
    let doing = state.session(project, target).and_then(|it| it.state);
    (open, doing)
}

/// `DELETE /sessions/{target}/listeners/{caller}`: removes the listener.
pub(super) async fn unlisten(
    State(hub): State<Hub>,
    Path((target, caller)): Path<(String, String)>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Unlistened>, ApiError> {
    let (target, caller) = (name(&target)?, name(&caller)?);
    let target = target_of(&hub, &project, target, true).await?;
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

/// `GET /sources`: senders that are not sessions, because they never reported a state.
pub(super) async fn sources(
    State(hub): State<Hub>,
    Params(SourceParams { project }): Params<SourceParams>,
) -> Result<Json<Sources>, ApiError> {
    let sources = hub
        .query(move |state, _| state.sources(project.as_ref()))
        .await?;
    Ok(Json(Sources { sources }))
}

/// The session as the API shows it.
fn shown(
    state: &Fold,
    presence: &Presence,
    (project, key): (&ProjectName, &InboxName),
    session: &Known,
) -> Session {
    let info = session.info().cloned().unwrap_or_default();
    let last_seen = [presence.seen(project, key), Some(session.ts)];
    let last_seen = last_seen.into_iter().flatten().max();
    let age = last_seen.map_or(0, |at| Timestamp::now().as_millis() - at.as_millis());
    let works = session.state == Some(SessionState::Working) && session.is_alive();
    let listeners = state.listeners(project, key);
    let waiter = presence.holder(project, key);
    let wake = match waiter {
        Some(_) => Wake::Live,
        None if !session.is_alive() => Wake::None,
        None if session.has_hooks() || presence.waited(project, key) => Wake::Stale,
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
        state: session.state,
        evidence: (!session.evidence.is_empty()).then(|| session.evidence.clone()),
        since: session.state.map(|_| session.ts),
        gone: session.gone,
        silent: works && age > SILENT_MS,
        last_seen,
        last: session.last,
        pending: state.inbox(project, key).map_or(0, Inbox::len) as u64,
        waiter,
        wake,
        listeners: listeners
            .map(|(caller, it)| Listener {
                caller: caller.clone(),
                since: it.since,
                until: it.until,
            })
            .collect(),
    }
}
