//! The time at which a record was made.

use hub_protocol::Timestamp;

use super::Record;

impl Record {
    /// Returns the record's time: for a notification, when it was sent. `None` for a carried notification, because it
    /// is only a copy of an older one.
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Notified(it) => Some(it.route.ts),
            Self::Settled(it) => Some(it.at),
            Self::Seen(it) => Some(it.at),
            Self::InboxClosed(it) => Some(it.at),
            Self::KeyUsed(it) => Some(it.at),
            Self::ClockMoved(it) => Some(it.at),
            Self::Trimmed(it) => Some(it.at),
            Self::Reset(it) => Some(it.at),
            Self::SessionSet(it) => Some(it.at),
            Self::TurnNoted(it) => Some(it.at),
            Self::SessionGone(it) => Some(it.at),
            Self::PrimaryTaken(it) => Some(it.at),
            Self::ListenerSet(it) => Some(it.at),
            Self::ListenerRemoved(it) => Some(it.at),
            Self::QuestionClaimed(it) => Some(it.at),
            Self::QuestionSettled(it) => Some(it.at),
            Self::Emitted(it) => Some(it.at),
            Self::Returned(it) => Some(it.at),
            Self::Escalated(it) => Some(it.at),
            Self::PreferencesSet(it) => Some(it.at),
            Self::Carried(_) => None,
        }
    }
}
