//! Filters: the notifications that a reader asks for.

use hub_protocol::{InboxName, Kind, Priority, ProjectName, Seq};

use crate::record::Route;

/// A filter on notifications; an absent field matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The project.
    pub project: Option<ProjectName>,
    /// An inbox among the notification's targets.
    pub inbox: Option<InboxName>,
    /// The types, of which any matches.
    pub kinds: Option<Vec<Kind>>,
    /// The sender.
    pub from: Option<InboxName>,
    /// The session that the notification is about.
    pub session: Option<InboxName>,
    /// The lowest priority that matches.
    pub min_priority: Option<Priority>,
    /// Only numbers above this match.
    pub after: Seq,
}

impl Filter {
    /// Whether the filter matches every notification.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the filter matches an item with these properties, project, inbox and session aside.
    pub fn matches_item(&self, seq: Seq, from: &InboxName, kind: Kind, priority: Priority) -> bool {
        seq > self.after
            && self
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&kind))
            && self.from.as_ref().is_none_or(|wanted| wanted == from)
            && self.min_priority.is_none_or(|least| priority <= least)
    }

    /// Whether the filter matches the notification `seq` with this route.
    pub fn matches(&self, seq: Seq, route: &Route) -> bool {
        self.matches_item(seq, &route.from, route.kind, route.priority)
            && self
                .project
                .as_ref()
                .is_none_or(|project| *project == route.project)
            && self
                .session
                .as_ref()
                .is_none_or(|session| session == route.about())
            && self.takes_inbox(route)
    }

    fn takes_inbox(&self, route: &Route) -> bool {
        let in_targets =
            |inbox: &InboxName| route.targets.iter().any(|target| target.inbox == *inbox);
        self.inbox.as_ref().is_none_or(in_targets)
    }
}
