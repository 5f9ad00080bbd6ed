//! Outcomes of notifications. Only exceptions are stored; a notification without one was acknowledged.

use hub_protocol::{Seq, Status};
use serde::{Deserialize, Serialize};

use super::ranges::Ranges;
use crate::record::How;

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
