//! Why a notification rides along: it wakes no waiter of an inbox, and is delivered with the next one that does; and why it
//! goes to no inbox. The same rules decide and explain it.

use std::fmt;

use hub_protocol::{InboxName, Kind, Priority};
use serde::Deserialize;
use serde_json::Value;

use super::inbox::Item;
use super::notification::MAX_HOPS;
use crate::asked::is_of_hook;
use crate::record::{Notified, Target};

/// Why a notification wakes no waiter of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RideAlong {
    /// Its type wakes nobody.
    Type(Kind),
    /// Only the person can decide it, so it wakes no agent.
    PersonDecides,
    /// The sender wrote to its own inbox.
    OwnNote,
    /// Its priority is `low`.
    LowPriority,
    /// Too many replies in a row.
    Hops,
    /// A rule muted it, the hook that made it gave the reason, or it is old.
    Quiet(Option<String>),
}

impl RideAlong {
    /// The reason that lies in an inbox, if there is one.
    pub(super) fn by_target(kind: Kind, is_own: bool, person_decides: bool) -> Option<Self> {
        match kind {
            Kind::Progress | Kind::Ended => Some(Self::Type(kind)),
            _ if person_decides => Some(Self::PersonDecides),
            _ => is_own.then_some(Self::OwnNote),
        }
    }

    /// The reason that holds in every inbox, if there is one.
    pub(super) fn by_content(priority: Priority, hops: u32, is_quiet: bool) -> Option<Self> {
        match priority {
            Priority::Low => Some(Self::LowPriority),
            _ if hops > MAX_HOPS => Some(Self::Hops),
            _ => is_quiet.then_some(Self::Quiet(None)),
        }
    }

    /// The reason why a stored notification rides along in one of its inboxes; `None` if it wakes there.
    pub fn of(notified: &Notified, target: &Target) -> Option<Self> {
        let route = &notified.route;
        let stored = Stored {
            kind: route.kind,
            priority: route.priority,
            hops: route.hops,
            from: &route.from,
            inbox: &target.inbox,
        };
        (!target.wakes).then(|| stored.reason().with_words(&notified.json))
    }

    /// The reason why a pending item rides along in an inbox; `None` if it wakes there. [`Self::with_words`] completes it.
    pub fn of_item(item: &Item, inbox: &InboxName) -> Option<Self> {
        let stored = Stored {
            kind: item.kind,
            priority: item.priority,
            hops: item.hops,
            from: &item.from,
            inbox,
        };
        (!item.wakes).then(|| stored.reason())
    }

    /// The reason why a stored notification goes to no inbox; `None` if it goes to one.
    pub fn without_inbox(notified: &Notified) -> Option<&'static str> {
        let route = &notified.route;
        if !route.targets.is_empty() {
            return None;
        }
        let by_hook = || Words::of(&notified.json).by_hook();
        Some(match route.kind {
            Kind::Progress => "type progress goes to no inbox unless its sender names one",
            Kind::Ended => "its end says nothing beyond its completion",
            Kind::Answer => "the hook that asked gives the answer to its agent",
            _ if route.session.is_none() && by_hook() => {
                "another notification of its turn said more"
            }
            _ => "its sender is the primary, which the person talks to",
        })
    }

    /// Adds the reason that the notification's JSON gives, if it is the reason.
    #[must_use]
    pub fn with_words(self, json: &[u8]) -> Self {
        if self != Self::Quiet(None) {
            return self;
        }
        let stored = Words::of(json);
        let muted = stored.muted_by;
        let muted = muted.map(|rule| format!("rule '{rule}' muted it"));
        // Earlier hubs wrote it into the data.
        let earlier = || Some(stored.data?["rides_along"].as_str()?.to_owned());
        Self::Quiet(muted.or(stored.rides_along).or_else(earlier))
    }
}

/// The parts of a notification's JSON that give its reason.
#[derive(Default, Deserialize)]
struct Words {
    data: Option<Value>,
    muted_by: Option<String>,
    rides_along: Option<String>,
}

impl Words {
    fn of(json: &[u8]) -> Self {
        serde_json::from_slice(json).unwrap_or_default()
    }

    /// Whether an agent's hook made the notification.
    fn by_hook(&self) -> bool {
        self.data.as_ref().is_some_and(is_of_hook)
    }
}

/// The facts about a notification that rides along in an inbox.
struct Stored<'a> {
    kind: Kind,
    priority: Priority,
    hops: u32,
    from: &'a InboxName,
    inbox: &'a InboxName,
}

impl Stored<'_> {
    fn reason(&self) -> RideAlong {
        let for_other = self.inbox.as_str() != InboxName::PERSON;
        let person_decides = self.kind == Kind::Approval && for_other;
        let by_target = RideAlong::by_target(self.kind, self.inbox == self.from, person_decides);
        let by_content = || RideAlong::by_content(self.priority, self.hops, true);
        by_target
            .or_else(by_content)
            .unwrap_or(RideAlong::Quiet(None))
    }
}

impl fmt::Display for RideAlong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(kind) => write!(f, "type {} wakes nobody", kind.as_str()),
            Self::PersonDecides => f.write_str("an approval wakes only the person"),
            Self::OwnNote => f.write_str("a note to oneself wakes nobody"),
            Self::LowPriority => f.write_str("priority low wakes nobody"),
            Self::Hops => write!(f, "more than {MAX_HOPS} replies in a row wake nobody"),
            Self::Quiet(Some(words)) => f.write_str(words),
            Self::Quiet(None) => f.write_str("it came late"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_read_also_where_earlier_hubs_wrote_it() {
        for (json, why) in [
            (r#"{"rides_along":"why"}"#, "why"),
            (r#"{"data":{"rides_along":"why"}}"#, "why"),
            (r#"{"data":{}}"#, "it came late"),
        ] {
            let ride = RideAlong::Quiet(None).with_words(json.as_bytes());
            assert_eq!(ride.to_string(), why, "{json}");
        }
    }
}
