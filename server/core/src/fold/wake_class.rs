//! Wake classes: how a wake counts against the wake limits of the woken session.

use hub_protocol::{InboxName, Kind, ProjectName, Seq};

use super::inbox::Item;
use super::{Session, State};

/// The group of wakes with which a wake is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WakeClass {
    /// The answer to the session's own question. Each question has one answer, so no limit is needed.
    Answer,
    /// A message of the person, who decides how often.
    Person,
    /// A stop or an error of one of the session's own workers.
    Worker,
    /// Another notification of a registered session.
    Session(InboxName),
    /// A notification of a sender that is not a registered session. All such senders of a project count as one, because
    /// they choose their names freely.
    Outsider,
}

impl State {
    /// Returns how a wake of `session` by `item`, which is pending in one of its inboxes, counts.
    pub fn wake_class(&self, project: &ProjectName, session: &InboxName, item: &Item) -> WakeClass {
        if item.kind == Kind::Answer && self.answers_own_question(project, session, item.seq) {
            return WakeClass::Answer;
        }
        if item.from.as_str() == InboxName::PERSON {
            return WakeClass::Person;
        }
        let from = self.sessions.resolve(project, &item.from);
        let registered = |it: &&Session| it.registered.is_some();
        match self.sessions.get(project, from).filter(registered) {
            Some(it)
                if is_stop_or_error(item.kind) && self.sessions.works_for(project, session, it) =>
            {
                WakeClass::Worker
            }
            Some(_) => WakeClass::Session(from.clone()),
            None => WakeClass::Outsider,
        }
    }

    fn answers_own_question(&self, project: &ProjectName, session: &InboxName, id: Seq) -> bool {
        let mut questions = self.questions.all().filter(|(asked, _)| *asked < id);
        questions.any(|(_, it)| {
            it.answer == Some(id)
                && it.project == *project
                && self.sessions.resolve(project, &it.from) == session
        })
    }
}

fn is_stop_or_error(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Complete | Kind::Waiting | Kind::Testing | Kind::Error | Kind::Ended
    )
}
