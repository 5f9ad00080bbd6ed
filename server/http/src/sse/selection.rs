//! The selection of a stream: which events its reader asked for.

use std::str::FromStr;

use hub_core::filter::Filter;
use hub_core::record::kinds;
use hub_log::fanout::Topic;
use hub_log::{Event, Log};

/// A kind of event that a reader may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Notification,
    Delivery,
    Seen,
    Session,
    Listener,
    Question,
    Presence,
    Preferences,
    Need,
    Sessions,
}

impl EventKind {
    const ALL: [Self; 10] = [
        Self::Notification,
        Self::Delivery,
        Self::Seen,
        Self::Session,
        Self::Listener,
        Self::Question,
        Self::Presence,
        Self::Preferences,
        Self::Need,
        Self::Sessions,
    ];

    /// The name of the event in its frame, and in the parameter `kinds`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Notification => "notification",
            Self::Delivery => "delivery",
            Self::Seen => "seen",
            Self::Session => "session",
            Self::Listener => "listener",
            Self::Question => "question",
            Self::Presence => "presence",
            Self::Preferences => "preferences",
            Self::Need => "need",
            Self::Sessions => "sessions",
        }
    }

    /// The kind of event of a record, by the record's kind byte; `None` for records that are not events.
    fn of_record(kind: u8) -> Option<Self> {
        Some(match kind {
            kinds::NOTIFIED => Self::Notification,
            kinds::SETTLED | kinds::EMITTED | kinds::RETURNED => Self::Delivery,
            kinds::SEEN => Self::Seen,
            kinds::SESSION_SET
            | kinds::TURN_NOTED
            | kinds::SESSION_ENDED
            | kinds::PRIMARY_TAKEN
            | kinds::NEED_CLOSED => Self::Session,
            kinds::LISTENER_SET | kinds::LISTENER_REMOVED => Self::Listener,
            kinds::PREFERENCES_SET => Self::Preferences,
            kinds::QUESTION_CLAIMED | kinds::QUESTION_SETTLED => Self::Question,
            _ => return None,
        })
    }
}

impl FromStr for EventKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            format!("unknown kind of event '{text}' (expected {all})")
        })
    }
}

/// The events that a reader asked for: their kinds, and a filter on notifications.
#[derive(Debug)]
pub(crate) struct Selection {
    /// One bit for each kind.
    kinds: u16,
    filter: Filter,
}

impl Selection {
    /// The notifications that match `filter`, or the events of `kinds`.
    pub(crate) fn new(kinds: Option<Vec<EventKind>>, filter: Filter) -> Self {
        let kinds = kinds.unwrap_or_else(|| vec![EventKind::Notification]);
        let kinds = kinds.into_iter().fold(0, |bits, it| bits | 1 << it as u8);
        Self { kinds, filter }
    }

    pub(super) fn has(&self, kind: EventKind) -> bool {
        self.kinds & (1 << kind as u8) != 0
    }

    pub(super) fn includes(&self, log: &Log, event: &Event) -> bool {
        self.matches(event) && !log.hides(event)
    }

    fn matches(&self, event: &Event) -> bool {
        match EventKind::of_record(event.kind()).filter(|it| self.has(*it)) {
            None => false,
            Some(EventKind::Notification) => self.matches_notification(event),
            Some(EventKind::Delivery) => self.matches_delivery(event),
            Some(_) => true,
        }
    }

    /// An open filter accepts a notification without decoding its route.
    fn matches_notification(&self, event: &Event) -> bool {
        let takes = |event: &Event| {
            let notified = event.notified();
            notified.is_some_and(|it| self.filter.matches(event.seq(), &it.route))
        };
        self.filter.is_open() || takes(event)
    }

    /// An event that settles a notification everywhere matches every filter.
    fn matches_delivery(&self, event: &Event) -> bool {
        let Some(record) = event.record() else {
            return true;
        };
        let Filter { project, inbox, .. } = &self.filter;
        let mut touched = record.touches().peekable();
        touched.peek().is_none()
            || touched.any(|(of, name)| {
                project.as_ref().is_none_or(|it| it == of)
                    && inbox.as_ref().is_none_or(|it| it == name)
            })
    }

    /// The fan-out's topic. An event that settles a notification everywhere touches no inbox, so only a stream of
    /// notifications can be a stream of one inbox.
    pub(super) fn topic(&self) -> Topic {
        let inbox_only = 1 << EventKind::Notification as u8 | 1 << EventKind::Presence as u8;
        match (&self.filter.project, &self.filter.inbox) {
            (Some(project), Some(inbox)) if self.kinds & !inbox_only == 0 => {
                Topic::Inbox(project.clone(), inbox.clone())
            }
            _ => Topic::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use hub_core::record::{Emitted, Record, SettleReason, Settled};
    use hub_log::testing::entry;
    use hub_protocol::{InboxName, ProjectName, Timestamp, Way};

    use super::*;

    fn event(record: Record) -> Event {
        Event::new(entry(1, &record), record)
    }

    fn settled(inbox: Option<(ProjectName, InboxName)>) -> Event {
        event(Record::Settled(Settled {
            ids: vec![1],
            inbox,
            how: SettleReason::Acked,
            by: None,
            at: Timestamp::default(),
        }))
    }

    fn emitted(project: ProjectName, inbox: InboxName) -> Event {
        event(Record::Emitted(Emitted {
            project,
            inbox,
            ids: vec![1],
            way: Way::Wait,
            by: None,
            at: Timestamp::default(),
        }))
    }

    #[test]
    fn an_inbox_filter_keeps_its_own_deliveries_and_those_without_an_inbox() {
        let (project, a): (ProjectName, InboxName) = (ProjectName::default(), "a".parse().unwrap());
        for name in ["a", "b"] {
            let filter = Filter {
                inbox: Some(name.parse().unwrap()),
                ..Filter::default()
            };
            let selection = Selection::new(Some(vec![EventKind::Delivery]), filter);
            let of_a = settled(Some((project.clone(), a.clone())));
            assert_eq!(selection.matches(&of_a), name == "a");
            let of_a = emitted(project.clone(), a.clone());
            assert_eq!(selection.matches(&of_a), name == "a");
            assert!(selection.matches(&settled(None)));
        }
    }
}
