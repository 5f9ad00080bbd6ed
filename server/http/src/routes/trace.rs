//! `GET /notifications/{id}/trace`: the delivery of a notification, step by step.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use hub_core::fold::RideAlong;
use hub_core::record::{Record, RuleNote, RuleNoted, SettleReason, Settled, Target};
use hub_core::time::Now;
use hub_engine::Hub;
use hub_log::journal::JournalError;
use hub_log::{CHUNK_BYTES, Event, Log};
use hub_protocol::{InboxName, ProjectName, QuestionState, Seq, Step, Timestamp, Trace, Way};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::history;
use super::stored;
use crate::budget::Allowance;
use crate::error::{ApiError, Code};
use crate::request::params::{Params, PathParam};

/// How long one request reads the log; most logs take less. A client waits longer for its answer.
const LONGEST: Duration = Duration::from_secs(4);
/// Limit of steps in one answer, at which the scan ends too. A notification may be marked and offered again forever.
const MAX_STEPS: usize = 10_000;

#[derive(Debug, Deserialize)]
pub(super) struct TraceParams {
    after: Option<Seq>,
}

/// Traces a notification: the inboxes it was routed to, its deliveries and leases, and how it was settled.
pub(super) async fn trace(
    State(hub): State<Hub>,
    PathParam(id): PathParam<Seq>,
    Params(params): Params<TraceParams>,
) -> Result<Json<Trace>, ApiError> {
    let (json, routed) = history::find(&hub, id).await?;
    let text = String::from_utf8(json.to_vec())
        .map_err(|error| ApiError::failed(Code::Internal, &error))?;
    let notification =
        RawValue::from_string(text).map_err(|error| ApiError::failed(Code::Internal, &error))?;
    let log = Arc::clone(hub.log());
    let after = params.after.unwrap_or(0);
    let (answer, status) = hub.read(|state, _| {
        let answer = state.questions.get(id).and_then(|it| it.answer);
        (answer, history::status_of(state, id, routed))
    })?;
    let scanned = stored::scan(move |allowance| steps(&log, id, answer, after, allowance));
    let (mut steps, next) = scanned.await?;
    if next.is_none() {
        steps.extend(presence(&hub, id)?);
    }
    Ok(Json(Trace {
        id,
        notification,
        status,
        steps,
        partial: next.is_some(),
        next,
    }))
}

/// The steps after a position in the log, and where to continue if the time was over or there were too many.
pub(super) fn steps(
    log: &Log,
    id: Seq,
    answer: Option<Seq>,
    after: Seq,
    allowance: &Allowance,
) -> Result<(Vec<Step>, Option<Seq>), JournalError> {
    let ids: Vec<Seq> = std::iter::once(id).chain(answer).collect();
    let mut steps = Vec::new();
    let mut cursor = after.max(id.max(log.earliest()) - 1);
    let until = Instant::now() + LONGEST;
    loop {
        allowance.go_on()?;
        cursor = log.before_next_step(cursor, &ids);
        let is_cut = steps.len() >= MAX_STEPS || Instant::now() >= until;
        if is_cut && cursor < log.head() {
            return Ok((steps, Some(cursor)));
        }
        let events = log.read(cursor, CHUNK_BYTES)?;
        let Some(last) = events.last() else {
            return Ok((steps, None));
        };
        cursor = last.seq();
        for event in &events {
            if let Some(record) = concerning(event, id) {
                steps.extend(of_record(event.seq(), record));
            }
            if let Some(record) = answer.and_then(|it| concerning(event, it)) {
                steps.extend(of_answer(event.seq(), record));
            }
        }
    }
}

/// The event's record, if it is that of the notification or concerns it.
fn concerning(event: &Event, id: Seq) -> Option<&Record> {
    if event.seq() == id {
        return event.record();
    }
    let record = Record::may_concern(event.kind()).then(|| event.record())??;
    record.concerns(id).then_some(record)
}

/// The steps of a record that concerns the notification.
fn of_record(seq: Seq, record: &Record) -> Vec<Step> {
    match record {
        Record::Notified(notified) => {
            let route = &notified.route;
            let stored = |target: &Target| {
                let place = Some((route.project.clone(), target.inbox.clone()));
                Step {
                    rides_along: RideAlong::of(notified, target).map(|it| it.to_string()),
                    ..step(seq, route.ts, "stored", place, None)
                }
            };
            match &route.targets[..] {
                [] => vec![Step {
                    why: RideAlong::without_inbox(notified).map(str::to_owned),
                    ..step(seq, route.ts, "stored", None, None)
                }],
                targets => targets.iter().map(stored).collect(),
            }
        }
        Record::Settled(Settled {
            inbox, how, by, at, ..
        }) => {
            vec![step(seq, *at, how.as_str(), inbox.clone(), by.clone())]
        }
        Record::Emitted(it) => {
            let place = Some((it.project.clone(), it.inbox.clone()));
            vec![Step {
                way: Some(it.way),
                why: Some(choice(it.way).into()),
                ..step(seq, it.at, "emitted", place, it.by.clone())
            }]
        }
        Record::Returned(it) => {
            let place = Some((it.project.clone(), it.inbox.clone()));
            vec![Step {
                why: it.why.clone(),
                ..step(seq, it.at, "returned", place, None)
            }]
        }
        Record::QuestionClaimed(it) => {
            vec![step(seq, it.at, "claimed", None, Some(it.by.clone()))]
        }
        Record::QuestionSettled(it) => {
            let state = match it.state {
                QuestionState::Open => "reopened",
                _ => "settled",
            };
            vec![step(seq, it.at, state, None, it.by.clone())]
        }
        Record::RuleFired(it) => {
            let actions: Vec<&str> = it.actions.iter().map(|it| it.as_str()).collect();
            let by = format!("rule '{}': {}", it.rule, actions.join(", "));
            vec![step(seq, it.at, "fired", None, Some(by))]
        }
        Record::RuleNoted(it) => of_rule(seq, it).into_iter().collect(),
        Record::Seen(seen) => {
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

/// The step of a rule that has fired on the notification.
fn of_rule(seq: Seq, it: &RuleNoted) -> Option<Step> {
    let (state, why) = match &it.note {
        RuleNote::Began | RuleNote::Escalated { made: None, .. } => return None,
        RuleNote::Started { .. } => ("started", None),
        RuleNote::Failed { why, .. } => ("failed", Some(why.clone())),
        RuleNote::Escalated { made: Some(_), .. } => ("escalated", None),
    };
    let by = Some(format!("rule '{}'", it.rule));
    Some(Step {
        why,
        ..step(seq, it.at, state, None, by)
    })
}

/// The step of a question's answer on its way to the asker.
fn of_answer(seq: Seq, record: &Record) -> Option<Step> {
    let (state, at) = match record {
        Record::Emitted(it) if !it.way.announces() => ("delivered", it.at),
        Record::Settled(it) if it.how == SettleReason::Acked => ("taken", it.at),
        _ => return None,
    };
    Some(step(seq, at, state, None, None))
}

/// Why a notification was shown in this way. The ways are tried in the order of this list, except for `hook`.
fn choice(way: Way) -> &'static str {
    match way {
        Way::Module => "its module polls the hub",
        Way::Rewake => "no module polled, and its rewake hook waited",
        Way::FileChanged => "it had no waiter, and it watches a file for the hub",
        Way::Socket => "it had no waiter, and its agent takes messages of other sessions",
        Way::AppServer => "it had no waiter, and its agent's server starts turns",
        Way::Wait => "its own `hubctl wait` took it",
        Way::Pane => "no other way was left, and its pane may be used",
        Way::Hook => "the answer to its next hook carried it",
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
        state: state.into(),
        project,
        inbox,
        by,
        ..Step::default()
    }
}

/// The current leases and the wake limits that hold it back. Both belong to presence, so they are not in the log and
/// have no time.
fn presence(hub: &Hub, id: Seq) -> Result<Vec<Step>, ApiError> {
    let steps = hub.read(|state, waiters| {
        let lessees = waiters.read().lessees(id).into_iter();
        let leased = lessees.map(|(project, inbox, by)| Step {
            by,
            ..of_presence("leased", project, inbox)
        });
        let now = Now::read();
        let places = state.inboxes.pending_in(id).into_iter();
        let held = places.filter_map(|(project, inbox)| {
            let hold = waiters.read().hold_of(state, (&project, &inbox), id, now)?;
            Some(Step {
                until: Some(hold.until),
                limit: Some(hold.limit.to_string()),
                ..of_presence("held", project, inbox)
            })
        });
        let unreachable =
            state
                .inboxes
                .pending_in(id)
                .into_iter()
                .filter_map(|(project, inbox)| {
                    let reader = state.sessions.reader(&project, &inbox)?.clone();
                    let waiters = waiters.read();
                    let (way, why) = waiters.unreachable(&(project.clone(), reader))?;
                    Some(Step {
                        way: Some(way),
                        why: Some(why.to_owned()),
                        ..of_presence("unreachable", project, inbox)
                    })
                });
        leased.chain(held).chain(unreachable).collect()
    });
    Ok(steps?)
}

fn of_presence(state: &'static str, project: ProjectName, inbox: InboxName) -> Step {
    Step {
        state: state.into(),
        project: Some(project),
        inbox: Some(inbox),
        ..Step::default()
    }
}

#[cfg(test)]
mod tests;
