//! The needs of sessions: what their phases say, and the person's messages that they do not have yet.

use hub_core::fold::{Session, SessionKey, SessionPhase, State};
use hub_core::waiters::SharedWaiters;
use hub_protocol::{
    InboxName, Need, NeedKind, PhaseName, QuestionState, Resume, SessionState, Settled, Timestamp,
    Whole,
};

use super::replies::{self, Reply, ReplyWay};
use super::{Close, FoundNeed, id_of, silenced};

/// How long after the hub would have woken it a session has gone on after its limit, in milliseconds: the next turn begins soon.
const GOES_ON_WITHIN_MS: i64 = 60 * 1000;

/// The need of a session without an open question; each open question is a need of its own. A message of the person that is
/// on its way to the session answers the turn; if nothing can deliver it, it is the person's turn again.
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

/// The need of a session in its phase.
fn of_phase(
    state: &State,
    place: &SessionKey,
    session: &Session,
    phase: SessionPhase,
    now: Timestamp,
) -> Option<FoundNeed> {
    let resume = session.resume();
    let went_on_at = resume.map(|(at, _)| at).or(phase.until);
    let was_limited = went_on_at.is_some_and(|at| at.plus_millis(GOES_ON_WITHIN_MS) < now);
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
            resume: resume.map(|(at, chosen)| Resume { at, chosen }),
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
