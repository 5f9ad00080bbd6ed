//! A stand-in for the fold's phase.

use hub_protocol::{InboxName, ProjectName, Seq, SessionState, Timestamp};
use serde::Serialize;

use crate::fold::{Session, State};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    NeedsYou,
    Blocked,
    YourTurn,
    Working,
    Done,
    Gone,
}

pub struct SessionPhase {
    pub name: PhaseName,
    pub since: Timestamp,
    pub report: Option<Seq>,
}

pub fn phase(
    state: &State,
    project: &ProjectName,
    key: &InboxName,
    session: &Session,
    heard: Timestamp,
    now: Timestamp,
) -> SessionPhase {
    let mut open = state.questions(false).into_iter();
    let mine = open.find(|(_, it)| it.project == *project && it.from == *key);
    let seen = session.last.is_some_and(|id| state.is_seen(id));
    let name = match session.state {
        _ if mine.is_some() => PhaseName::NeedsYou,
        _ if session.ended_at.is_some() => PhaseName::Gone,
        Some(SessionState::Working) if now.as_millis() - heard.as_millis() > 600_000 => {
            PhaseName::Blocked
        }
        Some(SessionState::Working | SessionState::Blocked) => PhaseName::Working,
        Some(SessionState::Error) if !seen => PhaseName::Blocked,
        None => PhaseName::Done,
        Some(_) if seen => PhaseName::Done,
        Some(_) => PhaseName::YourTurn,
    };
    SessionPhase {
        name,
        since: session.ts,
        report: mine.map(|(id, _)| id).or(session.last),
    }
}

impl PhaseName {
    pub fn waits_for_person(self) -> bool {
        matches!(self, Self::NeedsYou | Self::Blocked | Self::YourTurn)
    }
}
