//! `GET /stats`: counts and durations of the last minutes, computed from the log's tail.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hub_protocol::{PhaseName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::{phase, stored};
use crate::fold::State as Fold;
use crate::http::error::ApiError;
use crate::http::request::params::Params;
use crate::hub::Hub;
use crate::hub::stats::{Minute, Spread, Tally};
use crate::log::journal::JournalError;
use crate::log::{CHUNK_BYTES, Log};
use crate::waiters::{SharedWaiters, WakeTime};

const DEFAULT_MINUTES: usize = 60;
const MAX_MINUTES: usize = 24 * 60;
/// Limit of records read in one request.
const MAX_RECORDS: u64 = 200_000;
/// Step in records of the backward search for the window's first record.
const STEP: u64 = 4096;
/// Bytes read at a position to determine whether the window includes it.
const PROBE_BYTES: usize = 4096;
/// At most this many of the last wakes are listed individually.
const RECENT: usize = 100;
/// The agent name for askers that reported none.
const UNKNOWN: &str = "unknown";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatsParams {
    minutes: Option<usize>,
}

/// The answer: counts and durations of the last minutes.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    from: Timestamp,
    to: Timestamp,
    minutes: Vec<Minute>,
    answers: Vec<Answers>,
    oldest_open: Option<OpenQuestion>,
    /// How many sessions are in each phase; ended ones are not counted.
    phases: BTreeMap<PhaseName, usize>,
    wakes: Wakes,
    partial: bool,
}

/// Times from question to answer, for one kind of agent.
#[derive(Debug, Serialize)]
struct Answers {
    agent: String,
    #[serde(flatten)]
    spread: Spread,
}

/// The question that has been open for longest.
#[derive(Debug, Serialize)]
struct OpenQuestion {
    id: Seq,
    ts: Timestamp,
}

/// Times from a notification to its acknowledgement by a reader that was waiting for it.
#[derive(Debug, Serialize)]
struct Wakes {
    #[serde(flatten)]
    spread: Spread,
    recent: Vec<RecentWake>,
}

#[derive(Debug, Serialize)]
struct RecentWake {
    at: Timestamp,
    ms: u64,
}

/// `GET /stats`: counts and durations of the last minutes.
pub(super) async fn stats(
    State(hub): State<Hub>,
    Params(StatsParams { minutes }): Params<StatsParams>,
) -> Result<Json<Stats>, ApiError> {
    let minutes = minutes.unwrap_or(DEFAULT_MINUTES);
    if !(1..=MAX_MINUTES).contains(&minutes) {
        return Err(ApiError::invalid(format!("minutes is 1 to {MAX_MINUTES}")));
    }
    let to = Timestamp::now();
    let tally = Tally::new(to, minutes);
    let log = Arc::clone(hub.log());
    let (tally, cut) = stored::blocking(move || read(&log, tally)).await?;
    let stats = hub.read(|state, waiters| summary(state, waiters, &tally, to, cut));
    Ok(Json(stats?))
}

/// Folds the window's part of the log; also returns whether some of it is missing.
fn read(log: &Log, mut tally: Tally) -> Result<(Tally, bool), JournalError> {
    let head = log.head();
    let (start, cut) = beginning(log, head, tally.from())?;
    let mut cursor = start - 1;
    while cursor < head {
        let events = log.read(cursor, CHUNK_BYTES)?;
        let Some(last) = events.last() else { break };
        cursor = last.seq();
        let counted = events.iter().filter(|event| Tally::counts(event.kind()));
        let counted = counted.filter(|event| !log.hides(event));
        for record in counted.filter_map(|event| event.record()) {
            tally.take(record);
        }
    }
    Ok((tally, cut))
}

/// A position at or before the window's first record, and whether the window may begin before the records that are
/// read.
pub(super) fn beginning(
    log: &Log,
    head: Seq,
    from: Timestamp,
) -> Result<(Seq, bool), JournalError> {
    let first = log.earliest().max((head + 1).saturating_sub(MAX_RECORDS));
    let mut start = head + 1;
    while start > first {
        start = start.saturating_sub(STEP).max(first);
        if !is_within(log, start, from)? {
            return Ok((start, false));
        }
    }
    Ok((start, start > 1))
}

/// Whether a record after this position may be in the window. A record without a time counts as inside.
fn is_within(log: &Log, position: Seq, from: Timestamp) -> Result<bool, JournalError> {
    let events = log.read(position - 1, PROBE_BYTES)?;
    let mut records = events.iter().filter_map(|event| event.record());
    Ok(records.any(|record| record.at().is_none_or(|at| at >= from)))
}

fn summary(
    state: &Fold,
    waiters: &SharedWaiters,
    tally: &Tally,
    to: Timestamp,
    cut: bool,
) -> Stats {
    let open = state.questions(false).into_iter();
    let oldest = open.map(|(id, it)| (it.ts, id)).min();
    let (wakes, more) = waiters.read().wakes_since(tally.from());
    Stats {
        from: tally.from(),
        to,
        minutes: tally.minutes(),
        answers: answers(state, tally),
        oldest_open: oldest.map(|(ts, id)| OpenQuestion { id, ts }),
        phases: phases(state, waiters),
        wakes: wakes_of(&wakes),
        partial: cut || more,
    }
}

fn phases(state: &Fold, waiters: &SharedWaiters) -> BTreeMap<PhaseName, usize> {
    let mut counts = BTreeMap::new();
    for (project, key, session) in state.sessions(None) {
        let place = (project.clone(), key.clone());
        let found = phase::find(state, waiters, &place, session);
        if found.phase.name != PhaseName::Gone {
            *counts.entry(found.phase.name).or_default() += 1;
        }
    }
    counts
}

fn answers(state: &Fold, tally: &Tally) -> Vec<Answers> {
    let mut by_agent: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (id, at) in tally.answered() {
        let Some(question) = state.question(*id) else {
            continue;
        };
        let key = state.resolve(&question.project, &question.from);
        let session = state.session(&question.project, key);
        let agent = session.and_then(|it| it.info()?.agent.as_deref());
        let ms = at.as_millis() - question.ts.as_millis();
        let times = by_agent.entry(agent.unwrap_or(UNKNOWN)).or_default();
        times.push(u64::try_from(ms).unwrap_or(0));
    }
    let of = |(agent, times): (&str, Vec<u64>)| Answers {
        agent: agent.to_owned(),
        spread: Spread::of(times),
    };
    by_agent.into_iter().map(of).collect()
}

fn wakes_of(wakes: &[WakeTime]) -> Wakes {
    let recent = &wakes[wakes.len().saturating_sub(RECENT)..];
    Wakes {
        spread: Spread::of(wakes.iter().map(|wake| wake.ms).collect()),
        recent: recent
            .iter()
            .map(|WakeTime { at, ms }| RecentWake { at: *at, ms: *ms })
            .collect(),
    }
}
