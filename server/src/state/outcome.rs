//! What became of notifications: the exceptions are kept, the rule (acknowledged) is what remains.

use std::fmt;

use hub_protocol::Seq;
use serde::{Deserialize, Serialize};

use super::ranges::Ranges;
use crate::record::How;

/// Where a notification stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It went to no inbox.
    Recorded,
    /// Some reader has still to get it.
    Pending,
    /// Its readers have it.
    Acked,
    /// Its time was over before some reader had it.
    Expired,
    /// The log reached its byte cap before some reader had it.
    Evicted,
    /// A newer one took its place.
    Superseded,
    /// It was taken back.
    Withdrawn,
    /// Its inbox was closed, or its project reset.
    Dropped,
    /// It is a question that was answered before some reader had it.
    Answered,
}

impl Status {
    /// The name on the wire.
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

/// Notifications that some inbox lost before its reader had them; the last loss counts.
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

    /// Forgets what is no longer in the log: everything below `below` but for `kept`.
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
