//! `/needs`: what the person has to do. Only a person says that it is done.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub_core::command::Command;
use hub_engine::Hub;
use hub_engine::needs::{self, Close, FoundNeed};
use hub_protocol::{InboxName, Need, NeedKind, Needs, ProjectName, Snooze, Timestamp};

use super::stored;
use crate::error::{ApiError, Code};
use crate::request::caller::Caller;
use crate::request::params::PathParam;
use crate::request::payload::Payload;

/// `GET /needs`: the needs with their brief texts, the most urgent kind first, and within a kind the oldest.
pub(super) async fn list(State(hub): State<Hub>) -> Result<Json<Needs>, ApiError> {
    let (needs, _) = with_first(&hub, 0).await?;
    Ok(Json(Needs { needs }))
}

/// The needs, and again the first `count` of those that count, with all that they say.
pub(super) async fn with_first(
    hub: &Hub,
    count: usize,
) -> Result<(Vec<Need>, Vec<Need>), ApiError> {
    let found = hub.list(needs::list).await?;
    let log = Arc::clone(hub.log());
    let read = move || {
        let needs = needs::briefly(&log, found.clone());
        let counted = found.into_iter().zip(&needs).filter(|(_, it)| it.counts);
        let first = counted.take(count);
        let wholes = first.map(|(found, _)| needs::wholly(&log, found)).collect();
        Ok::<_, ApiError>((needs, wholes))
    };
    stored::blocking(read).await
}

/// The open needs of a project, in the same order, with their brief texts; those of this kind with all that they say.
pub async fn open_of(
    hub: &Hub,
    project: &ProjectName,
    whole: NeedKind,
) -> Result<Vec<Need>, ApiError> {
    let mut found = hub.list(needs::list).await?;
    found.retain(|it| it.need.is_open() && it.need.project == *project);
    let log = Arc::clone(hub.log());
    let read = move || {
        let needs = needs::briefly(&log, found.clone());
        let each = found.into_iter().zip(needs);
        let complete = |(found, need): (FoundNeed, Need)| match need.kind {
            kind if kind == whole => needs::wholly(&log, found),
            _ => need,
        };
        Ok::<_, ApiError>(each.map(complete).collect())
    };
    stored::blocking(read).await
}

/// `GET /needs/{id}`: a need with all that it says and what answers it; also a question that is settled.
pub(super) async fn get(
    State(hub): State<Hub>,
    PathParam(id): PathParam<String>,
) -> Result<Json<Need>, ApiError> {
    let found = find(&hub, &id).await?;
    let log = Arc::clone(hub.log());
    let need = stored::blocking(move || Ok::<_, ApiError>(needs::wholly(&log, found)));
    Ok(Json(need.await?))
}

/// `POST /needs/{id}/done`: closes a need that no answer ends.
pub(super) async fn done(
    State(hub): State<Hub>,
    PathParam(id): PathParam<String>,
    caller: Caller,
) -> Result<StatusCode, ApiError> {
    close(&hub, &id, caller, None).await
}

/// `DELETE /needs/{id}/done`: opens what a session needs again, as long as the session is in the same state.
pub(super) async fn undo(
    State(hub): State<Hub>,
    PathParam(id): PathParam<String>,
    caller: Caller,
) -> Result<StatusCode, ApiError> {
    caller.refuse_agents(&hub).await?;
    let found = hub.read(|state, _| needs::session_of(state, &id))?;
    let (session, of) = found.ok_or_else(|| unknown(&id))?;
    let until = Some(Timestamp::now());
    hub.submit(Command::CloseNeed { session, of, until })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /needs/{id}/snooze`: closes what a session needs until a time.
pub(super) async fn snooze(
    State(hub): State<Hub>,
    PathParam(id): PathParam<String>,
    caller: Caller,
    payload: Payload,
) -> Result<StatusCode, ApiError> {
    let Snooze { until } = payload.json()?;
    if until <= Timestamp::now() {
        return Err(ApiError::invalid("until lies in the past"));
    }
    close(&hub, &id, caller, Some(until)).await
}

/// `POST /needs/{id}/resume`: the hub lets the session go on when its limit ends.
pub(super) async fn resume(
    State(hub): State<Hub>,
    PathParam(id): PathParam<String>,
    caller: Caller,
) -> Result<StatusCode, ApiError> {
    set_resume(&hub, &id, caller, true).await
}

/// `DELETE /needs/{id}/resume`: the session waits for the person after its limit.
pub(super) async fn wait(
    State(hub): State<Hub>,
    PathParam(id): PathParam<String>,
    caller: Caller,
) -> Result<StatusCode, ApiError> {
    set_resume(&hub, &id, caller, false).await
}

async fn set_resume(hub: &Hub, id: &str, caller: Caller, on: bool) -> Result<StatusCode, ApiError> {
    caller.refuse_agents(hub).await?;
    let found = find(hub, id).await?;
    let (Some(_), Some(Close::Session(session, of))) = (found.need.resume, found.close) else {
        let detail = "this is no limit with a known end of a session that can be woken";
        return Err(ApiError::invalid(detail));
    };
    hub.submit(Command::Resume { session, of, on }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn close(
    hub: &Hub,
    id: &str,
    caller: Caller,
    until: Option<Timestamp>,
) -> Result<StatusCode, ApiError> {
    caller.refuse_agents(hub).await?;
    let found = find(hub, id).await?;
    let Some(close) = found.close else {
        return Err(Code::EndsByAnswer.into());
    };
    let command = close.command(until);
    let command = command
        .ok_or_else(|| ApiError::invalid("a message is done or not: it cannot be snoozed"))?;
    hub.submit(command).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A need of a session that takes a message of the person, and who gets it.
pub(super) async fn takes_reply(hub: &Hub, id: &str) -> Result<(Need, InboxName), ApiError> {
    let FoundNeed { need, .. } = find(hub, id).await?;
    if !need.is_open() {
        return Err(unknown(id));
    }
    match need.session.clone().filter(|_| need.answerable) {
        Some(session) => Ok((need, session)),
        None => Err(Code::NoReader.into()),
    }
}

async fn find(hub: &Hub, id: &str) -> Result<FoundNeed, ApiError> {
    let wanted = id.to_owned();
    let found = hub.list(move |state, waiters| needs::find(state, waiters, &wanted));
    found.await?.ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> ApiError {
    let detail = format!("no need '{id}': it has ended, or the session has gone on since");
    ApiError::new(Code::UnknownNeed, detail)
}
