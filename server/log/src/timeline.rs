//! The timeline: the phase of each session at every time of the last two days.
//!
//! It is computed by the readers' fold, from the phase of the sessions that a record concerns. It is built at the first
//! query, from the records that the log still has. The log does not contain the time of events that change nothing, so
//! a session at work never counts as silent in the past.

use std::collections::{HashMap, VecDeque};

use hub_core::fold::{SessionKey, SessionPhase, State};
use hub_core::record::Record;
use hub_protocol::{InboxName, PhaseName, ProjectName, Seq, Timestamp};

/// How long a segment is kept after its end, in milliseconds.
const KEPT_MS: i64 = 48 * 3600 * 1000;
/// The most segments of one session; the oldest are dropped first.
const MAX_SEGMENTS: usize = 1000;
/// The most sessions; the one that changed least recently is dropped first.
const MAX_LANES: usize = 256;

/// A part of a lane. It lasts until the next segment starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// When it starts.
    pub start: Timestamp,
    /// The session's phase from then on.
    pub phase: PhaseName,
    /// The notification whose text says more.
    pub report: Option<Seq>,
}

/// The lanes of all sessions.
#[derive(Debug, Default)]
pub struct Timeline {
    lanes: HashMap<SessionKey, Lane>,
    begins: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct Lane {
    segments: VecDeque<Segment>,
}

impl Timeline {
    /// Returns the time of the first record that the timeline includes; `None` if the log was empty.
    pub fn begins(&self) -> Option<Timestamp> {
        self.begins
    }

    /// Returns the sessions with at least one segment, in no order.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionKey> {
        self.lanes.keys()
    }

    /// Returns the segments of a session that overlap the time from `since` to `until`, oldest first. `heard` is when
    /// the hub last received anything from the session, from which its present phase is computed.
    pub fn segments(
        &self,
        key: &SessionKey,
        state: &State,
        heard: Timestamp,
        (since, until, now): (Timestamp, Timestamp, Timestamp),
    ) -> Vec<Segment> {
        // A session whose last record is older than the timeline has only its present phase.
        let unknown = Lane::default();
        let lane = self.lanes.get(key).unwrap_or(&unknown);
        let present = phase_of(state, key, heard, now);
        let present = present.and_then(|phase| lane.next(&phase, phase.since));
        let all: Vec<Segment> = lane.segments.iter().copied().chain(present).collect();
        let first = all.partition_point(|it| it.start <= since);
        let end = all.partition_point(|it| it.start < until);
        let first = first.saturating_sub(1).min(end);
        all[first..end].to_vec()
    }

    /// Notes the phases after a record was applied to `state`.
    pub(super) fn note(&mut self, state: &State, record: &Record) {
        let Some(at) = record.at() else { return };
        self.begins.get_or_insert(at);
        if let Record::Reset(reset) = record {
            self.lanes.retain(|key, _| key.0 != reset.project);
        }
        for key in self.concerned(state, record) {
            self.sample(state, &key, at);
        }
    }

    fn sample(&mut self, state: &State, key: &SessionKey, at: Timestamp) {
        let Some(phase) = phase_of(state, key, at, at) else {
            return;
        };
        let known = self.lanes.get_mut(key);
        let lane = match known {
            Some(lane) => lane,
            None if phase.name == PhaseName::Gone => return,
            None => {
                self.make_room();
                self.lanes.entry(key.clone()).or_default()
            }
        };
        if let Some(next) = lane.next(&phase, at) {
            lane.push(next, at);
        }
    }

    fn make_room(&mut self) {
        if self.lanes.len() < MAX_LANES {
            return;
        }
        let changed = |lane: &Lane| lane.segments.back().map(|it| it.start);
        let oldest = self.lanes.iter().min_by_key(|(_, lane)| changed(lane));
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.lanes.remove(&key);
        }
    }

    /// Returns the sessions whose phase a record may have changed.
    fn concerned(&self, state: &State, record: &Record) -> Vec<SessionKey> {
        let key = |project: &ProjectName, name: &InboxName| {
            let key = state.sessions.resolve(project, name);
            (project.clone(), key.clone())
        };
        match record {
            Record::Notified(it) => {
                let route = &it.route;
                let session = route.session.iter().map(|(name, _)| name);
                let targets = route.targets.iter().map(|it| &it.inbox);
                let names = session.chain([&route.from]).chain(targets);
                names.map(|name| key(&route.project, name)).collect()
            }
            Record::Settled(it) => {
                let inbox = it.inbox.iter().map(|(project, name)| key(project, name));
                let askers = it.ids.iter().filter_map(|id| asker(state, *id));
                askers.chain(inbox).collect()
            }
            Record::NeedClosed(it) => vec![key(&it.project, &it.session)],
            Record::SessionSet(it) => vec![key(&it.project, &it.session)],
            Record::TurnNoted(it) => vec![key(&it.project, &it.session)],
            // A worker of the session may have to wait for the person now.
            Record::SessionEnded(it) => {
                let others = self.lanes.keys().filter(|key| key.0 == it.project);
                others.cloned().collect()
            }
            Record::QuestionClaimed(it) => asker(state, it.id).into_iter().collect(),
            Record::QuestionSettled(it) => asker(state, it.id).into_iter().collect(),
            Record::Emitted(it) => vec![key(&it.project, &it.inbox)],
            Record::Returned(it) => vec![key(&it.project, &it.inbox)],
            _ => Vec::new(),
        }
    }
}

impl Lane {
    /// Returns the segment that begins with this phase at `at`; `None` if the last one goes on.
    fn next(&self, phase: &SessionPhase, at: Timestamp) -> Option<Segment> {
        let (name, report) = (phase.name, phase.report);
        let last = self.segments.back();
        if last.is_some_and(|it| (it.phase, it.report) == (name, report)) {
            return None;
        }
        Some(Segment {
            // The clock may have moved back, and a sender may give an earlier time.
            start: last.map_or(phase.since.min(at), |it| it.start.max(at)),
            phase: name,
            report,
        })
    }

    fn push(&mut self, next: Segment, now: Timestamp) {
        if self
            .segments
            .back()
            .is_some_and(|it| it.start == next.start)
        {
            self.segments.pop_back();
        }
        self.segments.push_back(next);
        let is_old = |segments: &VecDeque<Segment>| {
            let end = segments.get(1).map(|it| it.start);
            end.is_some_and(|end| now.as_millis() - end.as_millis() > KEPT_MS)
        };
        while self.segments.len() > MAX_SEGMENTS || is_old(&self.segments) {
            self.segments.pop_front();
        }
    }
}

/// The session that asked a question.
fn asker(state: &State, id: Seq) -> Option<SessionKey> {
    let question = state.questions.get(id)?;
    let asker = state.sessions.resolve(&question.project, &question.from);
    Some((question.project.clone(), asker.clone()))
}

fn phase_of(
    state: &State,
    (project, key): &SessionKey,
    heard: Timestamp,
    now: Timestamp,
) -> Option<SessionPhase> {
    let session = state.sessions.get(project, key)?;
    Some(state.phase(project, key, session, heard, now))
}

#[cfg(test)]
mod tests;
