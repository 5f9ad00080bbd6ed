//! The roles of sessions: the primary, workers, and the readers of inboxes.

use hub_protocol::{InboxName, ProjectName, Timestamp};

use super::session::Session;
use super::sessions::Sessions;
use crate::command::Refusal;
use crate::record::{PrimaryTaken, Record};

impl Sessions {
    /// Returns the live sessions whose parent is this session.
    pub(super) fn workers<'a>(
        &'a self,
        project: &'a ProjectName,
        key: &'a InboxName,
    ) -> impl Iterator<Item = (&'a InboxName, &'a Session)> {
        let is_parent = move |name: &InboxName| self.key_of(project, name.as_str()) == Some(key);
        self.alive(project)
            .filter(move |(_, session)| session.parent().is_some_and(&is_parent))
    }

    /// Returns how many workers of a session are working.
    pub fn busy_workers(&self, project: &ProjectName, key: &InboxName) -> usize {
        let workers = self.workers(project, key);
        workers.filter(|(_, it)| it.is_busy()).count()
    }

    /// Returns the inboxes that a session reads.
    pub fn inboxes_of(&self, project: &ProjectName, session: &InboxName) -> Vec<InboxName> {
        let is_primary = self.primary(project) == Some(session);
        let primary = is_primary.then(InboxName::primary);
        primary.into_iter().chain([session.clone()]).collect()
    }

    /// Returns the session that reads an inbox, if it is one's own or the primary's.
    pub fn reader<'a>(
        &'a self,
        project: &ProjectName,
        inbox: &'a InboxName,
    ) -> Option<&'a InboxName> {
        match inbox.as_str() {
            InboxName::PRIMARY => self.primary(project),
            _ => Some(inbox),
        }
    }

    /// Whether the reader of this inbox is idle. A session in a turn proves its deliveries with its next event, however
    /// late.
    pub(super) fn is_idle(&self, project: &ProjectName, inbox: &InboxName) -> bool {
        let reader = self.reader(project, inbox);
        let reader = reader.and_then(|key| self.get(project, key));
        reader.is_none_or(|session| !session.is_in_turn())
    }

    /// Whether hook events prove the arrival of items that this session's reader emits from this inbox.
    pub(super) fn can_prove(
        &self,
        project: &ProjectName,
        session: &InboxName,
        inbox: &InboxName,
    ) -> bool {
        let known = self.get(project, session);
        known.is_some_and(Session::has_hooks) && self.inboxes_of(project, session).contains(inbox)
    }

    /// Whether another session reads the end of this one's turns, or none has to: a worker has a parent, a headless
    /// session a program.
    pub(super) fn reports_to_another(&self, project: &ProjectName, session: &Session) -> bool {
        let parent = session.parent().and_then(|it| self.with_name(project, it));
        parent.is_some_and(Session::is_alive) || session.is_headless()
    }

    /// Whether a session is a worker of `boss`: its child, or any session of a project whose primary is `boss`.
    pub(super) fn works_for(
        &self,
        project: &ProjectName,
        boss: &InboxName,
        worker: &Session,
    ) -> bool {
        let parent = worker.parent();
        parent.is_some_and(|parent| self.resolve(project, parent) == boss)
            || self.primary(project) == Some(boss)
    }

    pub(super) fn decide_primary(
        &self,
        project: &ProjectName,
        session: &InboxName,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let (project, key) = self.find(project, session)?;
        if self.primary(&project) == Some(&key) {
            return Ok(Vec::new());
        }
        Ok(vec![Record::PrimaryTaken(PrimaryTaken {
            project,
            session: key,
            at: now,
        })])
    }
}
