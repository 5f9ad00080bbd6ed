//! The phase of a session: whether it waits for the person, and otherwise what it does. Every view of the hub shows this
//! one answer.

use hub_protocol::{InboxName, PhaseName, ProjectName, Seq, SessionState, Timestamp};

use super::State;
use super::session::Session;

/// A session at work counts as blocked after this time without any event, in milliseconds.
const SILENT_MS: i64 = 10 * 60 * 1000;
const SILENT: &str = "it is at work and has reported nothing since then";

/// The phase of a session, without texts of notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPhase {
    /// The phase.
    pub name: PhaseName,
    /// When it began.
    pub since: Timestamp,
    /// The notification whose text says more: the open question, or the session's last report.
    pub report: Option<Seq>,
    /// Why the session cannot go on, if no notification says it.
    pub reason: Option<String>,
    /// When it may go on, if its agent reported that.
    pub until: Option<Timestamp>,
    /// Whether it is blocked because it has reported nothing.
    pub is_silent: bool,
}

impl State {
    /// Returns the phase of a session. `heard` is when the hub last received anything from it, which the log does not
    /// contain.
    pub fn phase(
        &self,
        project: &ProjectName,
        key: &InboxName,
        session: &Session,
        heard: Timestamp,
        now: Timestamp,
    ) -> SessionPhase {
        let phase = |name, since| SessionPhase {
            name,
            since,
            report: session.last,
            reason: None,
            until: None,
            is_silent: false,
        };
        let questions = self.questions.of(project, key);
        if let Some((id, question)) = questions.min_by_key(|(id, _)| *id) {
            return SessionPhase {
                report: Some(id),
                ..phase(PhaseName::NeedsYou, question.ts)
            };
        }
        let closed = session.closed_at(now);
        let is_closed = closed.is_some();
        if let Some(ended_at) = session.ended_at {
            let died = session.state == Some(SessionState::Error) && !is_closed;
            let name = if died {
                PhaseName::Blocked
            } else {
                PhaseName::Gone
            };
            return phase(name, ended_at);
        }
        if let Some((failed_at, reason)) = session.failure() {
            if is_closed {
                return phase(PhaseName::Done, failed_at);
            }
            return SessionPhase {
                reason: Some(reason.to_owned()),
                until: session.goes_on_at(),
                ..phase(PhaseName::Blocked, failed_at)
            };
        }
        match session.state {
            None => phase(PhaseName::Done, session.ts),
            Some(SessionState::Error) if !is_closed => SessionPhase {
                until: session.goes_on_at(),
                ..phase(PhaseName::Blocked, session.ts)
            },
            Some(SessionState::Working) => {
                let heard = heard.max(session.ts);
                let is_silent = now.as_millis() - heard.as_millis() > SILENT_MS;
                if is_silent && closed.is_none_or(|at| at < heard) {
                    return SessionPhase {
                        reason: Some(SILENT.into()),
                        is_silent: true,
                        ..phase(PhaseName::Blocked, heard)
                    };
                }
                phase(PhaseName::Working, session.ts)
            }
            // Its question is settled. It works again, unless it had stopped and no answer is on its way.
            Some(SessionState::Blocked) if self.goes_on(project, key, session) => {
                phase(PhaseName::Working, session.ts)
            }
            // A name that only a sender gave itself has no session that could go on.
            Some(SessionState::Complete) if session.registered.is_none() => {
                phase(PhaseName::Gone, session.ts)
            }
            Some(_) if is_closed || self.sessions.reports_to_another(project, session) => {
                phase(PhaseName::Done, session.ts)
            }
            Some(SessionState::Complete) if let Some((id, since)) = session.asked => SessionPhase {
                report: Some(id),
                ..phase(PhaseName::YourTurn, since)
            },
            Some(_) => phase(PhaseName::YourTurn, session.ts),
        }
    }

    fn goes_on(&self, project: &ProjectName, key: &InboxName, session: &Session) -> bool {
        !session.has_stopped() || session.has_tasks() || self.inboxes.holds_mail(project, key)
    }
}
