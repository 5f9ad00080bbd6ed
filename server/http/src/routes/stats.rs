//! `GET /stats`: counts and durations of the last minutes, computed from the log's tail.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hub_core::fold::{SessionKey, State as Fold};
use hub_core::waiters::{SharedWaiters, WakeTime};
use hub_engine::stats::wakes::{FalseWakes, Injected, Percentiles, WakeTally};
use hub_engine::stats::{Minute, Spread, Tally};
use hub_engine::{Hub, phase};
use hub_log::journal::JournalError;
use hub_log::{CHUNK_BYTES, Log};
use hub_protocol::{InboxName, PhaseName, ProjectName, Seq, Timestamp, WhyDetail};
use serde::{Deserialize, Serialize};

use super::stored;
use crate::budget::Allowance;
use crate::error::ApiError;
use crate::request::params::Params;

mod words;

const DEFAULT_MINUTES: usize = 60;
const MAX_MINUTES: usize = 7 * 24 * 60;
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
    /// The wakes that led to nothing.
    false_wakes: FalseWakeRate,
    /// Times from a notification to the proof that the session that it woke has it.
    proofs: Percentiles,
    /// Times from question to answer, for each session that asked.
    answers_by_session: Vec<SessionAnswers>,
    /// The estimated text that sessions were shown, for each sender, the most first.
    tokens_by_sender: Vec<SenderTokens>,
    partial: bool,
    /// The most important numbers in one line, for people.
    summary: String,
    /// All of them in lines, for people.
    details: Vec<WhyDetail>,
}

/// How many wakes led to nothing.
#[derive(Debug, Serialize)]
struct FalseWakeRate {
    wakes: u64,
    idle: u64,
    /// The part of them that led to nothing; `None` if there were no wakes.
    rate: Option<f64>,
}

/// Times from question to answer, for one session that asked.
#[derive(Debug, Serialize)]
struct SessionAnswers {
    project: ProjectName,
    session: InboxName,
    name: String,
    #[serde(flatten)]
    times: Percentiles,
}

/// The text of one sender that sessions were shown.
#[derive(Debug, Serialize)]
struct SenderTokens {
    project: ProjectName,
    from: InboxName,
    name: String,
    notifications: u64,
    /// An estimate: the bytes of the framed text, divided by four.
    tokens: u64,
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
    let read = stored::scan(move |allowance| read(&log, tally, allowance)).await?;
    let stats = hub.list(move |state, waiters| summary(state, waiters, &read, to));
    Ok(Json(stats.await?))
}

/// The counts of the window, and whether some of it is missing.
struct Read {
    tally: Tally,
    wakes: WakeTally,
    cut: bool,
}

/// Folds the window's part of the log.
fn read(log: &Log, mut tally: Tally, allowance: &Allowance) -> Result<Read, JournalError> {
    let mut wakes = WakeTally::default();
    let head = log.head();
    let (start, cut) = beginning(log, head, tally.from())?;
    let mut cursor = start - 1;
    while cursor < head {
        allowance.go_on()?;
        let events = log.read(cursor, CHUNK_BYTES)?;
        let Some(last) = events.last() else { break };
        cursor = last.seq();
        let counts = |kind| Tally::counts(kind) || WakeTally::counts(kind);
        let counted = events.iter().filter(|event| counts(event.kind()));
        for event in counted.filter(|event| !log.hides(event)) {
            let Some(record) = event.record() else {
                continue;
            };
            tally.take(record);
            if record.at().is_none_or(|at| at >= tally.from()) {
                wakes.take(event.seq(), record);
            }
        }
    }
    Ok(Read { tally, wakes, cut })
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
    Read { tally, wakes, cut }: &Read,
    to: Timestamp,
) -> Stats {
    let open = state.questions.open();
    let oldest = open.map(|(id, it)| (it.ts, id)).min();
    let (acked, more) = waiters.read().wakes_since(tally.from());
    let mut answer = Stats {
        from: tally.from(),
        to,
        minutes: tally.minutes(),
        answers: answers(state, tally),
        oldest_open: oldest.map(|(ts, id)| OpenQuestion { id, ts }),
        phases: phases(state, waiters),
        wakes: wakes_of(&acked),
        false_wakes: FalseWakeRate::of(wakes.false_wakes()),
        proofs: Percentiles::of(wakes.proofs()),
        answers_by_session: answers_by_session(state, wakes),
        tokens_by_sender: tokens_by_sender(state, wakes),
        partial: *cut || more,
        summary: String::new(),
        details: Vec::new(),
    };
    (answer.summary, answer.details) = words::of(&answer);
    answer
}

impl FalseWakeRate {
    #[allow(clippy::cast_precision_loss)] // a rate needs few digits
    fn of(FalseWakes { wakes, idle }: FalseWakes) -> Self {
        Self {
            wakes,
            idle,
            rate: (wakes > 0).then(|| idle as f64 / wakes as f64),
        }
    }
}

fn answers_by_session(state: &Fold, wakes: &WakeTally) -> Vec<SessionAnswers> {
    let of = |((project, session), times): (&SessionKey, &Vec<u64>)| SessionAnswers {
        project: project.clone(),
        session: session.clone(),
        name: state.sessions.shown_name(project, session).to_owned(),
        times: Percentiles::of(times),
    };
    wakes.answers().iter().map(of).collect()
}

fn tokens_by_sender(state: &Fold, wakes: &WakeTally) -> Vec<SenderTokens> {
    let of = |((project, from), injected): (&SessionKey, &Injected)| SenderTokens {
        project: project.clone(),
        from: from.clone(),
        name: state.sessions.shown_name(project, from).to_owned(),
        notifications: injected.notifications,
        tokens: injected.tokens(),
    };
    let mut all: Vec<_> = wakes.injected_by().iter().map(of).collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.tokens));
    all
}

fn phases(state: &Fold, waiters: &SharedWaiters) -> BTreeMap<PhaseName, usize> {
    let mut counts = BTreeMap::new();
    for (project, key, session) in state.sessions.iter(None) {
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
        let Some(question) = state.questions.get(*id) else {
            continue;
        };
        let asker = state.sessions.with_name(&question.project, &question.from);
        let agent = asker.and_then(|it| it.info()?.agent.as_deref());
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
