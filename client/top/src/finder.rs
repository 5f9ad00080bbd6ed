//! Sessions by their names.

use std::collections::HashMap;

use hub_protocol::Session;

/// Sessions by project and any of their names.
#[derive(Debug)]
pub(crate) struct Finder<'a>(HashMap<(&'a str, &'a str), &'a Session>);

impl<'a> Finder<'a> {
    /// Indexes sessions by id, other ids and short name. An id takes precedence over the name of another session.
    pub(crate) fn of(sessions: &'a [Session]) -> Self {
        let mut found = HashMap::new();
        for session in sessions {
            let project = session.project.as_str();
            for alias in &session.aliases {
                found.entry((project, alias.as_str())).or_insert(session);
            }
            found
                .entry((project, session.name.as_str()))
                .or_insert(session);
        }
        let ids = sessions.iter();
        found.extend(ids.map(|it| ((it.project.as_str(), it.id.as_str()), it)));
        Self(found)
    }

    /// The session of `project` with this id or name.
    pub(crate) fn find(&self, project: &str, name: &str) -> Option<&'a Session> {
        self.0.get(&(project, name)).copied()
    }
}
