//! Which notifications a reader wants.

use hub_protocol::{InboxName, Kind, Priority, ProjectName, Seq};

use crate::record::Route;

/// A choice of notifications; an absent part chooses all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this project.
    pub project: Option<ProjectName>,
    /// In this inbox.
    pub inbox: Option<InboxName>,
    /// Of these types.
    pub kinds: Option<Vec<Kind>>,
    /// From this sender.
    pub from: Option<InboxName>,
    /// About this session.
    pub session: Option<InboxName>,
    /// At least this important.
    pub min_priority: Option<Priority>,
    /// After this number.
    pub after: Seq,
}

impl Filter {
    /// Whether it chooses everything.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it chooses an item with these properties.
    pub fn takes_item(&self, seq: Seq, from: &InboxName, kind: Kind, priority: Priority) -> bool {
        seq > self.after
            && self
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&kind))
            && self.from.as_ref().is_none_or(|wanted| wanted == from)
            && self.min_priority.is_none_or(|least| priority <= least)
    }

    /// Whether it chooses the notification `seq` with this route.
    pub fn takes(&self, seq: Seq, route: &Route) -> bool {
        let about = || {
            route
                .session
                .as_ref()
                .map_or(&route.from, |(session, _)| session)
        };
        self.takes_item(seq, &route.from, route.kind, route.priority)
            && self
                .project
                .as_ref()
                .is_none_or(|project| *project == route.project)
            && self
                .session
                .as_ref()
                .is_none_or(|session| session == about())
            && self.takes_inbox(route)
    }

    fn takes_inbox(&self, route: &Route) -> bool {
        let in_targets =
            |inbox: &InboxName| route.targets.iter().any(|target| target.inbox == *inbox);
        self.inbox.as_ref().is_none_or(in_targets)
    }
}
