//! The needs of the person.

use hub_protocol::{Kind, Notification, PhaseName, Question, Seq, Session, Timestamp};

use crate::finder::Finder;
use crate::question::question_text;

/// A reason to call the person.
#[derive(Debug, Clone, Copy)]
pub enum Need<'a> {
    /// An open question or approval, and the session that asks, unless it has ended.
    Question(&'a Question, Option<&'a Session>),
    /// A session that does not go on without the person.
    Session {
        /// The session.
        session: &'a Session,
        /// Why it does not go on.
        halt: Halt,
        /// Its last notification.
        last: Option<&'a Notification>,
    },
}

/// Why a session does not go on without the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// It has an error, or cannot go on for another reason.
    Error,
    /// It has reported nothing for too long.
    Silent,
    /// Its process has died.
    Died,
    /// Its turn has ended.
    YourTurn,
}

/// The open questions, and then the sessions that are blocked or whose turn has ended. `notification` returns the
/// notification with a number, if it is known.
pub fn needs<'a>(
    sessions: &'a [Session],
    questions: &'a [Question],
    notification: impl Fn(Seq) -> Option<&'a Notification>,
) -> Vec<Need<'a>> {
    let finder = Finder::of(sessions);
    let open = questions.iter().filter(|it| !it.state.is_final());
    let asker = |it: &Question| finder.find(it.project.as_str(), it.from.as_str());
    let mut needs: Vec<_> = open.map(|it| Need::Question(it, asker(it))).collect();
    let asks = |session| {
        let mut asking = needs.iter().filter_map(Need::session);
        asking.any(|it| std::ptr::eq(it, session))
    };
    let halted = sessions.iter().filter_map(|session| {
        let last = session.last.and_then(&notification);
        let halt = halt(session, last)?;
        // The question calls the person already.
        (halt != Halt::YourTurn || !asks(session)).then_some(Need::Session {
            session,
            halt,
            last,
        })
    });
    let halted: Vec<_> = halted.collect();
    needs.extend(halted);
    needs
}

fn halt(session: &Session, last: Option<&Notification>) -> Option<Halt> {
    match session.phase.name {
        PhaseName::YourTurn => Some(Halt::YourTurn),
        PhaseName::Blocked if session.gone => Some(Halt::Died),
        PhaseName::Blocked if session.silent && !last.is_some_and(is_error) => Some(Halt::Silent),
        PhaseName::Blocked => Some(Halt::Error),
        _ => None,
    }
}

fn is_error(it: &Notification) -> bool {
    it.kind == Kind::Error
}

impl<'a> Need<'a> {
    /// A text that names it for as long as it exists.
    pub fn tag(&self) -> String {
        match self {
            Self::Question(question, _) => question.id.to_string(),
            Self::Session { session, .. } => {
                let Session {
                    id, project, phase, ..
                } = session;
                format!("{} {project}/{id} {}", phase.name, phase.since)
            }
        }
    }

    /// When it began.
    pub fn since(&self) -> Timestamp {
        match self {
            Self::Question(question, _) => question.ts,
            Self::Session { session, .. } => session.phase.since,
        }
    }

    /// The session, unless it has ended.
    pub fn session(&self) -> Option<&'a Session> {
        match self {
            Self::Question(_, session) => *session,
            Self::Session { session, .. } => Some(session),
        }
    }

    /// The notification that it is about.
    pub fn notification(&self) -> Option<Seq> {
        match self {
            Self::Question(question, _) => Some(question.id),
            Self::Session { session, .. } => session.last,
        }
    }

    /// The question, or the last words of the session.
    pub fn text(&self) -> &'a str {
        match self {
            Self::Question(question, _) => question_text(question),
            Self::Session {
                session,
                halt,
                last,
            } => {
                let reports = |it: &&Notification| match halt {
                    Halt::Silent => true,
                    Halt::YourTurn => false,
                    Halt::Error | Halt::Died => is_error(it),
                };
                match last.filter(reports) {
                    Some(last) => &last.msg,
                    None if *halt == Halt::Silent => "",
                    None => session.phase.text.as_deref().unwrap_or_default(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn session(id: &str, phase: &str, more: &Value) -> Session {
        let mut session = json!({"id": id, "name": id, "project": "default", "primary": false, "pending": 0, "wake": "none",
            "phase": {"name": phase, "since": "2026-01-10T11:00:00Z", "text": "its text"}});
        let fields = more.as_object().unwrap().clone();
        session.as_object_mut().unwrap().extend(fields);
        from_value(session).unwrap()
    }

    #[test]
    fn a_session_needs_the_person_once_and_with_its_last_words() {
        let sessions = [
            session("asks", "your_turn", &json!({})),
            session("stopped", "your_turn", &json!({"last": 0})),
            session("works", "working", &json!({})),
            session("failed", "blocked", &json!({"last": 1, "silent": true})),
            session("limited", "blocked", &json!({"last": 0})),
            session("silent", "blocked", &json!({"last": 0, "silent": true})),
            session("dead", "blocked", &json!({"gone": true})),
        ];
        let question = Question {
            from: "asks".parse().unwrap(),
            msg: "Which?".into(),
            ..Question::default()
        };
        let note = |kind: &str| -> Notification {
            from_value(json!({"id": 1, "ts": "2026-01-10T11:00:00Z", "from": "x", "type": kind, "msg": kind,
                "project": "default", "priority": "normal", "expires_at": "2026-01-10T11:00:00Z"}))
            .unwrap()
        };
        let notes = [note("progress"), note("error")];
        let questions = [question];
        let found = needs(&sessions, &questions, |id| {
            notes.get(usize::try_from(id).ok()?)
        });
        let shown: Vec<_> = found
            .iter()
            .map(|it| {
                let halt = match it {
                    Need::Question(..) => None,
                    Need::Session { halt, .. } => Some(*halt),
                };
                (it.session().unwrap().name.as_str(), halt, it.text())
            })
            .collect();
        let expected = [
            ("asks", None, "Which?"),
            ("stopped", Some(Halt::YourTurn), "its text"),
            ("failed", Some(Halt::Error), "error"),
            ("limited", Some(Halt::Error), "its text"),
            ("silent", Some(Halt::Silent), "progress"),
            ("dead", Some(Halt::Died), "its text"),
        ];
        assert_eq!(shown, expected);
    }
}
