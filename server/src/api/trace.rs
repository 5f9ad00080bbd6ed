//! `GET /notifications/{id}/trace`: what became of a notification, step by step.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hub_protocol::{InboxName, ProjectName, Seq, Timestamp, Way};
use serde::Serialize;
use serde_json::value::RawValue;

use super::params::{self, Part};
use super::{ApiError, Code, history};
use crate::hub::Hub;
use crate::journal::JournalError;
use crate::log::{CHUNK_BYTES, Log};
use crate::record::{Record, Settled};

/// Records looked at in one request.
const MAX_SCAN: usize = 200_000;

/// What became of a notification.
#[derive(Debug, Serialize)]
pub(super) struct Trace {
    id: Seq,
    notification: Box<RawValue>,
    steps: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Step {
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<ProjectName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inbox: Option<InboxName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<Way>,
}

/// Where a notification went, who holds it, and how it was settled.
pub(super) async fn trace(
    State(hub): State<Hub>,
    Part(id): Part<Seq>,
) -> Result<Json<Trace>, ApiError> {
    let (json, _) = history::find(&hub, id).await?;
    let text = String::from_utf8(json.to_vec())
        .map_err(|error| ApiError::failed(Code::Internal, &error))?;
    let notification =
        RawValue::from_string(text).map_err(|error| ApiError::failed(Code::Internal, &error))?;
    let log = Arc::clone(hub.log());
    let mut steps = params::blocking(move || steps(&log, id)).await?;
    steps.extend(leases(&hub, id).await?);
    Ok(Json(Trace {
        id,
        notification,
        steps,
    }))
}

fn steps(log: &Log, id: Seq) -> Result<Vec<Step>, JournalError> {
    let mut steps = Vec::new();
    let mut cursor = id.max(log.earliest()) - 1;
    let mut scanned = 0;
    while scanned < MAX_SCAN {
        let events = log.read(cursor, CHUNK_BYTES)?;
        let Some(last) = events.last() else { break };
        cursor = last.seq();
        scanned += events.len();
        for event in &events {
            if let Some(record) = event.record() {
                steps.extend(of_record(event.seq(), record, id));
            }
        }
    }
    Ok(steps)
}

fn of_record(seq: Seq, record: &Record, id: Seq) -> Vec<Step> {
    match record {
        Record::Notified(notified) if seq == id => {
            let route = &notified.route;
            let stored = |inbox| {
                step(
                    seq,
                    route.ts,
                    "stored",
                    Some((route.project.clone(), inbox)),
                    None,
                )
            };
            match &route.targets[..] {
                [] => vec![step(seq, route.ts, "stored", None, None)],
                targets => targets
                    .iter()
                    .map(|target| stored(target.inbox.clone()))
                    .collect(),
            }
        }
        Record::Settled(Settled {
            ids,
            inbox,
            how,
            by,
            at,
        }) if ids.contains(&id) => {
            vec![step(seq, *at, how.as_str(), inbox.clone(), by.clone())]
        }
        Record::Emitted(it) if it.ids.contains(&id) => {
            let place = Some((it.project.clone(), it.inbox.clone()));
            vec![Step {
                way: Some(it.way),
                ..step(seq, it.at, "emitted", place, it.by.clone())
            }]
        }
        Record::Returned(it) if it.ids.contains(&id) => {
            let place = Some((it.project.clone(), it.inbox.clone()));
            vec![step(seq, it.at, "returned", place, None)]
        }
        Record::QuestionClaimed(it) if it.id == id => {
            vec![step(seq, it.at, "claimed", None, Some(it.by.clone()))]
        }
        Record::QuestionSettled(it) if it.id == id => {
            vec![step(seq, it.at, "settled", None, it.by.clone())]
        }
        Record::Seen(seen)
            if seen.ids.contains(&id) || seen.up_to.is_some_and(|up_to| id <= up_to) =>
        {
            vec![step(
                seq,
                seen.at,
                if seen.seen { "seen" } else { "unseen" },
                None,
                None,
            )]
        }
        _ => Vec::new(),
    }
}

fn step(
    seq: Seq,
    at: Timestamp,
    state: &'static str,
    place: Option<(ProjectName, InboxName)>,
    by: Option<String>,
) -> Step {
    let (project, inbox) = place.unzip();
    Step {
        seq: Some(seq),
        at: Some(at),
        state,
        project,
        inbox,
        by,
        way: None,
    }
}

/// The readers that hold it for the moment: presence, so neither in the log nor with a time of its own.
async fn leases(hub: &Hub, id: Seq) -> Result<Vec<Step>, ApiError> {
    let holders = hub.query(move |_, presence| presence.lessees(id)).await?;
    let of = |(project, inbox, by)| Step {
        seq: None,
        at: None,
        state: "leased",
        project: Some(project),
        inbox: Some(inbox),
        by,
        way: None,
    };
    Ok(holders.into_iter().map(of).collect())
}
