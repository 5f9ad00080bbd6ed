//! Outcomes of notifications. Only exceptions are stored; a notification without one was acknowledged.

use std::fmt;

use hub_protocol::Seq;
use serde::{Deserialize, Serialize};

use super::ranges::Ranges;
use crate::core::record::How;

/// The status of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is only recorded: it went to no inbox.
    Recorded,
    /// It is pending in an inbox.
    Pending,
    /// Its readers acknowledged it.
    Acked,
    /// It expired before a reader acknowledged it.
    Expired,
    /// It was dropped at the log's byte cap before a reader acknowledged it.
    Evicted,
    /// A newer notification with the same key replaced it.
    Superseded,
    /// It was withdrawn.
    Withdrawn,
    /// Its inbox was closed, or its project reset.
    Dropped,
    /// It is a question that was answered before one of its readers received it.
    Answered,
}

impl Status {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Pending => "pending",
            Self::Acked => "acked",
            Self::Expired => "expired",
            Self::Evicted => "evicted",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
            Self::Dropped => "dropped",
            Self::Answered => "answered",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Notifications that an inbox lost before its reader acknowledged them; if several did, the last loss counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcomes {
    expired: Ranges,
    evicted: Ranges,
    superseded: Ranges,
    withdrawn: Ranges,
    dropped: Ranges,
    #[serde(default)]
    answered: Ranges,
}

impl Outcomes {
    pub(super) fn get(&self, id: Seq) -> Option<Status> {
        self.all()
            .into_iter()
            .find(|(_, ids)| ids.contains(id))
            .map(|(status, _)| status)
    }

    pub(super) fn note(&mut self, id: Seq, how: How) {
        if how == How::Acked {
            return;
        }
        self.each(|ids| ids.remove(id));
        match how {
            How::Acked => {}
            How::Expired => self.expired.insert(id),
            How::Evicted => self.evicted.insert(id),
            How::Superseded => self.superseded.insert(id),
            How::Withdrawn => self.withdrawn.insert(id),
            How::Dropped => self.dropped.insert(id),
            How::Answered => self.answered.insert(id),
        }
    }

    /// Forgets notifications below `below`, which are no longer in the log, except `kept`.
    pub(super) fn trim(&mut self, below: Seq, kept: &[Seq]) {
        self.each(|ids| ids.trim(below, kept));
    }

    fn all(&self) -> [(Status, &Ranges); 6] {
        [
            (Status::Expired, &self.expired),
            (Status::Evicted, &self.evicted),
            (Status::Superseded, &self.superseded),
            (Status::Withdrawn, &self.withdrawn),
            (Status::Dropped, &self.dropped),
            (Status::Answered, &self.answered),
        ]
    }

    fn each(&mut self, change: impl Fn(&mut Ranges)) {
        change(&mut self.expired);
        change(&mut self.evicted);
        change(&mut self.superseded);
        change(&mut self.withdrawn);
        change(&mut self.dropped);
        change(&mut self.answered);
    }
}
