//! `GET /timeline`: the phases of the sessions over the last hours, and at one moment.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hub_core::fold::{SessionKey, State as Fold};
use hub_core::waiters::SharedWaiters;
use hub_engine::{Hub, phase};
use hub_log::timeline::{Segment, Timeline};
use hub_protocol::{InboxName, PhaseName, ProjectName, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::stored;
use crate::error::ApiError;
use crate::request::params::Params;

/// The default length of the timeline in milliseconds.
const DEFAULT_MS: i64 = 8 * 3600 * 1000;

#[derive(Debug, Deserialize)]
pub(super) struct TimelineParams {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MomentParams {
    at: Timestamp,
}

/// The most segments in one answer. Above it the lanes without a recent change are left out.
const MAX_SEGMENTS: usize = 100_000;

/// The answer to `GET /timeline`.
#[derive(Debug, Serialize)]
pub(super) struct TimelineView {
    since: Timestamp,
    until: Timestamp,
    begins: Option<Timestamp>,
    waited_ms: u64,
    lanes: Vec<LaneView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
}

/// One session's phases.
#[derive(Debug, Serialize)]
struct LaneView {
    project: ProjectName,
    session: InboxName,
    name: String,
    waited_ms: u64,
    segments: Vec<Span>,
}

/// A phase and its start.
#[derive(Debug, Serialize)]
struct Span {
    at: Timestamp,
    phase: PhaseName,
}

/// The answer to `GET /timeline/moment`.
#[derive(Debug, Serialize)]
pub(super) struct Moment {
    at: Timestamp,
    sessions: Vec<SessionMoment>,
}

/// A session's phase at one time.
#[derive(Debug, Serialize)]
struct SessionMoment {
    project: ProjectName,
    session: InboxName,
    phase: PhaseName,
    since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// `GET /timeline`: a lane for each session that was alive at some time between `since` and `until`.
pub(super) async fn timeline(
    State(hub): State<Hub>,
    Params(TimelineParams { since, until }): Params<TimelineParams>,
) -> Result<Json<TimelineView>, ApiError> {
    let now = Timestamp::now();
    let until = until.unwrap_or(now).min(now);
    let since = since.unwrap_or_else(|| until.plus_millis(-DEFAULT_MS));
    if since > until {
        return Err(ApiError::invalid(
            "since is before until and not in the future",
        ));
    }
    let range = (since, until, now);
    let lanes =
        hub.read_timeline(move |state, timeline, waiters| lanes(state, timeline, waiters, range));
    Ok(Json(lanes.await?))
}

/// `GET /timeline/moment`: the phase of each session at one time, with the text of its last report by then.
pub(super) async fn moment(
    State(hub): State<Hub>,
    Params(MomentParams { at }): Params<MomentParams>,
) -> Result<Json<Moment>, ApiError> {
    let now = Timestamp::now();
    let at = at.min(now);
    let range = (at, at.plus_millis(1), now);
    let found = hub.read_timeline(move |state, timeline, waiters| {
        let last = |key: SessionKey| {
            let heard = phase::heard(waiters, &key, now);
            let segments = timeline.segments(&key, state, heard, range);
            let segment = segments.last().copied();
            let segment = segment.filter(|it| it.phase != PhaseName::Gone)?;
            let location = segment.report.map(|id| state.location(id).unwrap_or(id));
            Some((key, segment, location))
        };
        let all = sessions(state, timeline).into_iter();
        all.filter_map(last).collect::<Vec<_>>()
    });
    let found = found.await?;
    let log = Arc::clone(hub.log());
    let with_text = move |(key, segment, location): (SessionKey, Segment, Option<Seq>)| {
        let (project, session) = key;
        SessionMoment {
            project,
            session,
            phase: segment.phase,
            since: segment.start,
            report: segment.report,
            text: location.and_then(|it| phase::text(&log, it)),
        }
    };
    let sessions = found.into_iter().map(with_text);
    let sessions = stored::blocking(move || Ok::<_, ApiError>(sessions.collect()));
    Ok(Json(Moment {
        at,
        sessions: sessions.await?,
    }))
}

fn lanes(
    state: &Fold,
    timeline: &Timeline,
    waiters: &SharedWaiters,
    range: (Timestamp, Timestamp, Timestamp),
) -> TimelineView {
    let (since, until, _) = range;
    let lane = |key: SessionKey| {
        let heard = phase::heard(waiters, &key, range.2);
        let segments = timeline.segments(&key, state, heard, range);
        let lived = segments.iter().any(|it| it.phase != PhaseName::Gone);
        lived.then(|| LaneView {
            name: state.sessions.shown_name(&key.0, &key.1).to_owned(),
            waited_ms: waited_ms(&segments, since, until),
            segments: spans(&segments),
            project: key.0,
            session: key.1,
        })
    };
    let lanes = sessions(state, timeline).into_iter().filter_map(lane);
    let (lanes, left_out) = fitted(lanes.collect());
    TimelineView {
        since,
        until,
        begins: timeline.begins(),
        waited_ms: lanes.iter().map(|it| it.waited_ms).sum(),
        lanes,
        left_out: Some(left_out).filter(|it| *it > 0),
    }
}

/// The lanes that fit one answer, those with the last changes first chosen, and how many do not.
fn fitted(mut lanes: Vec<LaneView>) -> (Vec<LaneView>, usize) {
    let all = lanes.len();
    let mut room = MAX_SEGMENTS;
    lanes.sort_by_key(|it| Reverse(it.segments.last().map(|it| it.at)));
    let mut fits = |lane: &LaneView| {
        let left = room.checked_sub(lane.segments.len());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let kept = lanes.iter().take_while(|it| fits(it)).count();
    lanes.truncate(kept);
    lanes.sort_by(|a, b| (&a.project, &a.session).cmp(&(&b.project, &b.session)));
    (lanes, all - kept)
}

/// The sessions of the timeline and the live ones, by project and id.
fn sessions(state: &Fold, timeline: &Timeline) -> BTreeSet<SessionKey> {
    let alive = state.sessions.iter(None).filter(|(_, _, it)| it.is_alive());
    let alive = alive.map(|(project, key, _)| (project.clone(), key.clone()));
    timeline.sessions().cloned().chain(alive).collect()
}

/// How long a session waited for the person between `since` and `until`, in milliseconds.
fn waited_ms(segments: &[Segment], since: Timestamp, until: Timestamp) -> u64 {
    let ends = segments.iter().skip(1).map(|it| it.start).chain([until]);
    let waits = segments.iter().zip(ends);
    let waits = waits.filter(|(segment, _)| segment.phase.waits_for_person());
    let lengths = waits
        .map(|(segment, end)| end.min(until).as_millis() - segment.start.max(since).as_millis());
    lengths.filter_map(|it| u64::try_from(it).ok()).sum()
}

/// Joins segments that differ in their report only.
fn spans(segments: &[Segment]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for it in segments {
        if spans.last().is_none_or(|last| last.phase != it.phase) {
            spans.push(Span {
                at: it.start,
                phase: it.phase,
            });
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(session: &str, segments: usize) -> LaneView {
        let span = |at: usize| Span {
            at: Timestamp::from_millis(i64::try_from(at).unwrap()),
            phase: PhaseName::Working,
        };
        LaneView {
            project: ProjectName::default(),
            session: session.parse().unwrap(),
            name: session.into(),
            waited_ms: 0,
            segments: (0..segments).map(span).collect(),
        }
    }

    #[test]
    fn lanes_without_a_recent_change_are_left_out_of_a_large_answer_and_counted() {
        let lanes = vec![lane("b", MAX_SEGMENTS / 2), lane("a", MAX_SEGMENTS / 2)];
        let (kept, left_out) = fitted(lanes);
        let names: Vec<_> = kept.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((names, left_out), (vec!["a", "b"], 0));
        let lanes = vec![
            lane("old", 3),
            lane("a", MAX_SEGMENTS / 2),
            lane("b", MAX_SEGMENTS / 2),
        ];
        let (kept, left_out) = fitted(lanes);
        let names: Vec<_> = kept.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((names, left_out), (vec!["a", "b"], 1));
    }
}
