//! `/inboxes`: pending notifications by inbox, acknowledging and removing them.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use hub_core::command::Command;
use hub_core::fold::{Inbox, State as Fold};
use hub_core::notification::is_longer;
use hub_core::time::Now;
use hub_core::waiters::{SharedWaiters, Waiters};
use hub_engine::Hub;
use hub_protocol::{AckRequest, Acked, Dropped, InboxInfo, InboxName, Inboxes, ProjectName, Seq};
use serde::Deserialize;

use super::wait::{self, MAX_AS};
use super::{refused, stored};
use crate::error::{ApiError, Code};
use crate::request::caller::Caller;
use crate::request::evidence::Witness;
use crate::request::params::{Params, PathParam, ProjectFilter, ProjectParam};
use crate::request::payload::Payload;

/// At most this many ids are acknowledged in one request.
const MAX_IDS: usize = 1000;

/// `GET /inboxes`: the inboxes of a project, or all, with their waiters.
pub(super) async fn list(
    State(hub): State<Hub>,
    Params(ProjectFilter { project }): Params<ProjectFilter>,
) -> Result<Json<Inboxes>, ApiError> {
    let inboxes = hub.list(move |state, waiters| infos(state, waiters, project.as_ref()));
    let inboxes = inboxes.await?;
    Ok(Json(Inboxes { inboxes }))
}

/// Locks the waiters for each inbox anew, so that the writer does not wait for the whole list.
fn infos(state: &Fold, waiters: &SharedWaiters, project: Option<&ProjectName>) -> Vec<InboxInfo> {
    let empty = Inbox::default();
    let now = Now::read();
    let mut holders: HashMap<_, _> = waiters
        .read()
        .holders()
        .filter(|(of, ..)| project.is_none_or(|project| project == *of))
        .map(|(project, inbox, holder)| ((project.clone(), inbox.clone()), holder))
        .collect();
    let mut infos: Vec<InboxInfo> = state
        .inboxes
        .iter(project)
        .map(|(project, name, inbox)| {
            let waiters = waiters.read();
            let mut info = info(&waiters, project, name, inbox);
            let held = waiters.held_back(state, (project, name), now);
            info.held = held.map(|held| held.count);
            info.held_until = held.map(|held| held.until);
            info.waiter = holders.remove(&(project.clone(), name.clone()));
            info
        })
        .collect();
    // A waiter may hold an inbox that never received a notification.
    infos.extend(
        holders
            .into_iter()
            .map(|((project, name), holder)| InboxInfo {
                waiter: Some(holder),
                ..info(&waiters.read(), &project, &name, &empty)
            }),
    );
    for info in &mut infos {
        let name = state.sessions.other_name(&info.project, &info.name);
        info.session = name.map(str::to_owned);
        if let Some(holder) = &mut info.waiter {
            let session = holder.session.as_ref();
            let name = session.and_then(|id| state.sessions.other_name(&info.project, id));
            holder.session_name = name.map(str::to_owned);
        }
    }
    infos.sort_by(|a, b| (&a.project, &a.name).cmp(&(&b.project, &b.name)));
    infos
}

fn info(waiters: &Waiters, project: &ProjectName, name: &InboxName, inbox: &Inbox) -> InboxInfo {
    let oldest = inbox.oldest();
    InboxInfo {
        project: project.clone(),
        name: name.clone(),
        pending: inbox.len() as u64,
        leased: waiters.leased_count(project, name) as u64,
        oldest: oldest.map(|item| item.seq),
        oldest_ts: oldest.map(|item| item.ts),
        held: None,
        held_until: None,
        session: None,
        waiter: None,
    }
}

/// `DELETE /inboxes/{inbox}`: removes an inbox and drops its pending notifications.
pub(super) async fn close(
    State(hub): State<Hub>,
    PathParam(inbox): PathParam<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
    caller: Caller,
) -> Result<Json<Dropped>, ApiError> {
    caller.may_read_as(&hub, &inbox).await?;
    let done = hub.submit(Command::CloseInbox { project, inbox }).await?;
    Ok(Json(Dropped {
        dropped: done.settled,
    }))
}

/// Acknowledges exactly the notifications of a lease, or exactly the given ids. With both, acknowledges those ids of
/// the lease and offers its others again at once.
pub(super) async fn ack(
    State(hub): State<Hub>,
    PathParam(inbox): PathParam<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
    caller: Caller,
    payload: Payload,
) -> Result<Json<Acked>, ApiError> {
    let body: AckRequest = payload.json()?;
    caller.may_read_as(&hub, &inbox).await?;
    if body.by.as_ref().is_some_and(|by| is_longer(by, MAX_AS)) {
        return Err(ApiError::invalid(format!(
            "by has at most {MAX_AS} characters"
        )));
    }
    let acked = match (body.lease, body.ids) {
        (Some(lease), None) => wait::acknowledge(&hub, &lease).await?,
        (Some(lease), Some(ids)) => wait::acknowledge_some(&hub, &lease, &ids).await?,
        (None, Some(ids)) => {
            let ids = routed(&hub, &project, &inbox, ids).await?;
            let command = Command::Ack {
                project,
                items: vec![(inbox, ids)],
                by: body.by,
                shown: None,
            };
            hub.submit(command).await?.settled
        }
        (None, None) => return Err(ApiError::invalid("give lease or ids")),
    };
    Ok(Json(Acked { acked }))
}

/// Sorts the ids and checks that each was routed to this inbox. An id below the retention boundary cannot be checked;
/// it counts as settled unless it is pending.
async fn routed(
    hub: &Hub,
    project: &ProjectName,
    inbox: &InboxName,
    mut ids: Vec<Seq>,
) -> Result<Vec<Seq>, ApiError> {
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() || ids.len() > MAX_IDS {
        return Err(ApiError::invalid(format!("ids are 1 to {MAX_IDS} numbers")));
    }
    for &id in &ids {
        if id >= 1 && id < hub.log().earliest() {
            continue;
        }
        let event = stored::event(hub.log(), id).await?;
        let route = event
            .as_ref()
            .and_then(|event| event.notified())
            .map(|notified| &notified.route);
        let here = route.is_some_and(|route| {
            route.project == *project && route.targets.iter().any(|target| target.inbox == *inbox)
        });
        if !here {
            let detail = format!(
                "notification {id} was never put into inbox '{inbox}' of project '{project}'"
            );
            return Err(ApiError::new(Code::UnknownNotification, detail));
        }
    }
    Ok(ids)
}

#[derive(Debug, Deserialize)]
pub(super) struct ResetParams {
    #[serde(default)]
    history: bool,
}

/// `POST /projects/{project}/reset`: ends the project's waits, drops its pending notifications and forgets its
/// sessions' state. With `history`, its earlier notifications are hidden too. No agent does that, and with an open question
/// that is for a person, only a person does.
pub(super) async fn reset(
    State(hub): State<Hub>,
    PathParam(project): PathParam<ProjectName>,
    Params(ResetParams { history }): Params<ResetParams>,
    caller: Caller,
    witness: Witness,
) -> Result<Json<Dropped>, ApiError> {
    let for_person = hub.read(|state, _| {
        let open = state.questions.in_project(&project);
        let for_person = open.filter(|(_, it)| it.is_for_person());
        for_person.map(|(id, _)| id).min()
    })?;
    refused::demand_person(&hub, (caller, &witness), for_person).await?;
    caller.refuse_agents(&hub).await?;
    let reset = Command::Reset { project, history };
    let mut dropped = hub.submit(reset).await?.settled;
    // A notification that was pending in two inboxes was dropped from both.
    dropped.sort_unstable();
    dropped.dedup();
    Ok(Json(Dropped { dropped }))
}
