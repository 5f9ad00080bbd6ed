//! `/inboxes`: what is pending where, and acknowledging it.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use hub_protocol::{Acked, InboxInfo, InboxName, ProjectName, Seq};
use serde::{Deserialize, Serialize};

use super::params::{self, Params, Part, ProjectParam};
use super::payload::Payload;
use super::{ApiError, Code, wait};
use crate::command::Command;
use crate::hub::Hub;
use crate::presence::Presence;
use crate::state::{Inbox, State as Fold};

/// Notifications acknowledged by number in one request.
const MAX_IDS: usize = 1000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    project: Option<ProjectName>,
}

#[derive(Debug, Serialize)]
pub(super) struct Inboxes {
    inboxes: Vec<InboxInfo>,
}

/// The notifications that a request took away.
#[derive(Debug, Serialize)]
pub(super) struct Dropped {
    dropped: Vec<Seq>,
}

/// What a reader has: a lease, or numbers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AckBody {
    lease: Option<String>,
    ids: Option<Vec<Seq>>,
    by: Option<String>,
}

/// The inboxes of a project, or all, with who waits there.
pub(super) async fn list(
    State(hub): State<Hub>,
    Params(params): Params<ListParams>,
) -> Result<Json<Inboxes>, ApiError> {
    let inboxes = hub
        .query(move |state, presence| infos(state, presence, params.project.as_ref()))
        .await?;
    Ok(Json(Inboxes { inboxes }))
}

fn infos(state: &Fold, presence: &Presence, project: Option<&ProjectName>) -> Vec<InboxInfo> {
    let empty = Inbox::default();
    let mut waiters: HashMap<_, _> = presence
        .holders()
        .filter(|(of, ..)| project.is_none_or(|project| project == *of))
        .map(|(project, inbox, holder)| ((project, inbox), holder))
        .collect();
    let mut infos: Vec<InboxInfo> = state
        .inboxes(project)
        .map(|(project, name, inbox)| {
            let mut info = info(presence, project, name, inbox);
            info.waiter = waiters.remove(&(project, name));
            info
        })
        .collect();
    // Somebody may wait where nothing was ever put.
    infos.extend(
        waiters
            .into_iter()
            .map(|((project, name), holder)| InboxInfo {
                waiter: Some(holder),
                ..info(presence, project, name, &empty)
            }),
    );
    infos.sort_by(|a, b| (&a.project, &a.name).cmp(&(&b.project, &b.name)));
    infos
}

fn info(presence: &Presence, project: &ProjectName, name: &InboxName, inbox: &Inbox) -> InboxInfo {
    let oldest = inbox.oldest();
    InboxInfo {
        project: project.clone(),
        name: name.clone(),
        pending: inbox.len() as u64,
        leased: presence.leased_count(project, name) as u64,
        oldest: oldest.map(|item| item.seq),
        oldest_ts: oldest.map(|item| item.ts),
        waiter: None,
    }
}

/// Removes an inbox; what was pending there is dropped.
pub(super) async fn close(
    State(hub): State<Hub>,
    Part(inbox): Part<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
) -> Result<Json<Dropped>, ApiError> {
    let done = hub.submit(Command::CloseInbox { project, inbox }).await?;
    Ok(Json(Dropped {
        dropped: done.settled,
    }))
}

/// Settles what a reader has: exactly what its lease covers, or exactly the numbers it names; with both, those of the
/// lease, and the others are offered again at once.
pub(super) async fn ack(
    State(hub): State<Hub>,
    Part(inbox): Part<InboxName>,
    Params(ProjectParam { project }): Params<ProjectParam>,
    payload: Payload,
) -> Result<Json<Acked>, ApiError> {
    let body: AckBody = payload.json()?;
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

/// The numbers, ascending, once it is sure that each was put into this inbox. What retention has dropped from the log
/// can no longer be checked; if it is not pending it is settled anyhow.
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
        let event = params::stored(hub.log(), id).await?;
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
#[serde(deny_unknown_fields)]
pub(super) struct ResetParams {
    #[serde(default)]
    history: bool,
}

/// Empties a project: ends its waiters, drops what is pending, forgets what its sessions said, and with `history` shows
/// nothing any more of what was said in it.
pub(super) async fn reset(
    State(hub): State<Hub>,
    Part(project): Part<ProjectName>,
    Params(ResetParams { history }): Params<ResetParams>,
) -> Result<Json<Dropped>, ApiError> {
    let reset = Command::Reset { project, history };
    let mut dropped = hub.submit(reset).await?.settled;
    // One that was pending in two inboxes was dropped in both.
    dropped.sort_unstable();
    dropped.dedup();
    Ok(Json(Dropped { dropped }))
}
