//! The processes that run a session. Its life and death follow them, while its name, mail and questions follow its id.
//!
//! Several processes may run one session, for example in two terminals that both resumed it: it ends with the last of them.
//! A process runs one session at a time: what it resumes or forks replaces what it ran before.

use hub_protocol::{Process, SessionInfo};

use super::session::{Session, SessionKey};
use super::transaction::Transaction;
use crate::command::{AgentEvent, Hook};
use crate::record::{Record, SessionEnded, SessionSet};

/// Whether a hook event shows that another process than before runs the session.
pub(super) fn moves(hook: &Hook, known: Option<&Session>) -> bool {
    let before = known.and_then(|it| it.processes().next());
    let begins = hook.happened.starts() || matches!(hook.happened, AgentEvent::Prompt { .. });
    let process = hook.process();
    process.is_some() && process != before && (begins || before.is_none())
}

/// Whether a hook event shows that another process runs the session too, which lives in its own.
pub(super) fn joins<'a>(hook: &'a Hook, known: Option<&Session>) -> Option<&'a Process> {
    let other = hook.other.as_ref().filter(|_| hook.happened.starts())?;
    let runs = |it: &Session| it.processes().any(|it| it == other);
    (!known.is_some_and(runs)).then_some(other)
}

/// Whether a hook event shows that a session that has ended runs again. What else its process reports, or is reported
/// late, is older than the end.
pub(super) fn revives(hook: &Hook, ended: &Session) -> bool {
    let before = ended.processes().next();
    let process = hook.process().filter(|_| before.is_some());
    hook.happened.starts()
        || matches!(hook.happened, AgentEvent::Prompt { .. })
        || process.is_some_and(|it| Some(it) != before)
}

impl Transaction<'_> {
    /// Notes that a process no longer runs a session. Returns whether no other one does.
    pub(super) fn leave_process(&mut self, (project, key): &SessionKey, process: &Process) -> bool {
        let Some(session) = self.state.sessions.get(project, key) else {
            return false;
        };
        let last = session.processes().next();
        let next = session.processes().find(|it| *it != process);
        if next.is_none() || !session.processes().any(|it| it == process) {
            return next.is_none();
        }
        let info = SessionInfo {
            process: next.filter(|_| last == Some(process)).cloned(),
            ..SessionInfo::default()
        };
        self.also([Record::SessionSet(SessionSet {
            info: info.into(),
            left: Some(process.clone()),
            ..SessionSet::of((project, key), self.now)
        })]);
        false
    }

    /// Notes that another process runs a session too.
    pub(super) fn join_process(&mut self, (project, key): &SessionKey, process: &Process) {
        self.also([Record::SessionSet(SessionSet {
            hooks: true,
            also: Some(process.clone()),
            ..SessionSet::of((project, key), self.now)
        })]);
    }

    /// Ends a session because its process runs another one now. That is no news, and its questions stay open, because it
    /// can be resumed.
    pub(super) fn switch_from(&mut self, (project, key): &SessionKey) {
        self.leave((project, key));
        self.also([Record::SessionEnded(SessionEnded {
            project: project.clone(),
            session: key.clone(),
            at: self.now,
            ended: true,
        })]);
    }

    /// Ends the other sessions that this process has run until now.
    pub(super) fn switch_to(&mut self, place: &SessionKey, process: &Process) {
        let runs = self.state.sessions.with_process(process);
        let others = runs.filter(|(other, session)| other != place && session.has_hooks());
        for (other, _) in others {
            if self.leave_process(&other, process) {
                self.switch_from(&other);
            }
        }
    }
}
