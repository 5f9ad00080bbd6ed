//! The needs of sessions: what their phases say, and the person's messages that they do not have yet.

use hub_core::fold::{Session, SessionKey, SessionPhase, State};
use hub_core::waiters::SharedWaiters;
use hub_protocol::{
    InboxName, Need, NeedKind, PhaseName, QuestionState, Resume, SessionState, Settled, Timestamp,
    Whole,
};

use super::replies::{self, Reply, ReplyWay};
use super::{Close, FoundNeed, id_of, silenced};

/// How long after the end of its limit a session has gone on, if it goes on by itself: the hub wakes them one after another
/// within a minute, and the next turn begins soon.
const RESUMED_WITHIN_MS: i64 = 2 * 60 * 1000;

/// What a session needs, unless it asks: then its questions are the needs. A message of the person that is on its way is an
/// answered turn, and one that nothing delivers is the person's turn again.
pub(super) fn find(
    state: &State,
    waiters: &SharedWaiters,
    place: &SessionKey,
    session: &Session,
    now: Timestamp,
) -> Option<FoundNeed> {
    let (project, key) = place;
    let heard = waiters.read().heard(place, now);
    let phase = state.phase(project, key, session, heard, now);
    if phase.name == PhaseName::NeedsYou {
        return None;
    }
    let found = of_phase(state, place, session, phase, now);
    let Some(reply) = replies::find(state, waiters, place, session, now) else {
        return found;
    };
    let kind = found.as_ref().map_or(NeedKind::Turn, |it| it.need.kind);
    match (kind, &reply.way) {
        (NeedKind::Turn, _) => Some(of_reply(state, place, session, reply, now)),
        (NeedKind::Error | NeedKind::Died, ReplyWay::NotTaken(why)) => found.map(|it| FoundNeed {
            untaken: Some(format!("{why}\n\n")),
            need: Need {
                revision: reply.id.max(it.need.revision),
                ..it.need
            },
            ..it
        }),
        _ => found,
    }
}

/// What a session needs in its phase.
fn of_phase(
    state: &State,
    place: &SessionKey,
    session: &Session,
    phase: SessionPhase,
    now: Timestamp,
) -> Option<FoundNeed> {
    let was_limited = phase.until.is_some_and(|until| is_over(until, now));
    let kind = match phase.name {
        PhaseName::YourTurn => NeedKind::Turn,
        PhaseName::Blocked if session.is_alive() && was_limited => NeedKind::Turn,
        PhaseName::Blocked if !session.is_alive() => NeedKind::Died,
        PhaseName::Blocked if phase.is_silent => NeedKind::Silent,
        PhaseName::Blocked
            if phase.until.is_some() || session.state != Some(SessionState::Error) =>
        {
            NeedKind::Limit
        }
        PhaseName::Blocked => NeedKind::Error,
        _ => return None,
    };
    let says_more = phase
        .report
        .filter(|_| phase.reason.is_none() || phase.is_silent);
    Some(FoundNeed {
        need: Need {
            kind,
            since: phase.since,
            until: phase.until,
            resume: session.resume().map(|(at, chosen)| Resume { at, chosen }),
            notification: phase.report,
            revision: phase.report.unwrap_or(session.seq),
            whole: phase.reason.map(|text| Whole {
                text: if was_limited {
                    format!("Its limit has ended: {text}")
                } else {
                    text
                },
                ..Whole::default()
            }),
            ..need_of(state, place, session, now)
        },
        location: says_more.map(|id| state.location(id).unwrap_or(id)),
        close: Some(Close::Session(place.clone(), session.seq)),
        ..FoundNeed::default()
    })
}

/// Whether a limit has ended, and with it the time in which the hub wakes the session.
fn is_over(until: Timestamp, now: Timestamp) -> bool {
    until.plus_millis(RESUMED_WITHIN_MS) < now
}

/// The turn of a session to which the person has sent a message.
fn of_reply(
    state: &State,
    place: &SessionKey,
    session: &Session,
    Reply { id, ts, way }: Reply,
    now: Timestamp,
) -> FoundNeed {
    let location = |id| state.location(id).unwrap_or(id);
    let (message, spoke) = (Some(location(id)), session.spoke.map(location));
    let need = Need {
        kind: NeedKind::Turn,
        since: ts,
        notification: Some(id),
        revision: id,
        ..need_of(state, place, session, now)
    };
    let found = FoundNeed {
        close: Some(Close::Session(place.clone(), session.seq)),
        ..FoundNeed::default()
    };
    match way {
        ReplyWay::NotTaken(why) => FoundNeed {
            need,
            location: message,
            context: spoke,
            untaken: Some(format!("{why}\n\nYour message: ")),
            ..found
        },
        ReplyWay::Sent(delivery) => FoundNeed {
            need: Need {
                answerable: false,
                notification: session.spoke,
                settled: Some(Settled {
                    state: QuestionState::Answered,
                    by: Some(InboxName::PERSON.into()),
                    answer: None,
                    delivery: Some(delivery),
                }),
                ..need
            },
            location: spoke,
            answer: message,
            ..found
        },
    }
}

/// The need of a session, without what it is about.
fn need_of(state: &State, place: &SessionKey, session: &Session, now: Timestamp) -> Need {
    let (project, key) = place;
    Need {
        id: id_of(session),
        project: project.clone(),
        name: state.sessions.shown_name(project, key).to_owned(),
        session: Some(key.clone()),
        silenced: silenced(state, (project, key), now),
        answerable: session.is_alive(),
        ..Need::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_over_when_its_session_would_have_gone_on() {
        let until = Timestamp::from_millis(1_000_000);
        assert!(!is_over(until, until.plus_millis(RESUMED_WITHIN_MS)));
        assert!(is_over(until, until.plus_millis(RESUMED_WITHIN_MS + 1)));
    }
}
