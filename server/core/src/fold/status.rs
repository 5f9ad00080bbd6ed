//! The status of a notification, and how it stops being pending. Only exceptions are stored; a notification without one
//! was acknowledged.

use hub_protocol::{InboxName, ProjectName, Seq, Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::State;
use super::question::Progress;
use super::ranges::Ranges;
use crate::command::Refusal;
use crate::record::{Record, SettleReason, Settled};

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

    pub(super) fn note(&mut self, id: Seq, how: SettleReason) {
        if how == SettleReason::Acked {
            return;
        }
        self.each(|ids| ids.remove(id));
        match how {
            SettleReason::Acked => {}
            SettleReason::Expired => self.expired.insert(id),
            SettleReason::Evicted => self.evicted.insert(id),
            SettleReason::Superseded => self.superseded.insert(id),
            SettleReason::Withdrawn => self.withdrawn.insert(id),
            SettleReason::Dropped => self.dropped.insert(id),
            SettleReason::Answered => self.answered.insert(id),
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

/// The most numbers in one record: about one block of the journal.
const MAX_IDS: usize = 400;

/// Returns records that settle `ids`, in ascending order; none if `ids` is empty.
pub(super) fn settled(
    mut ids: Vec<Seq>,
    inbox: Option<(&ProjectName, &InboxName)>,
    how: SettleReason,
    by: Option<&str>,
    at: Timestamp,
) -> Vec<Record> {
    ids.sort_unstable();
    ids.dedup();
    let record = |ids: &[Seq]| {
        Record::Settled(Settled {
            ids: ids.to_vec(),
            inbox: inbox.map(|(project, name)| (project.clone(), name.clone())),
            how,
            by: by.map(str::to_owned),
            at,
        })
    };
    ids.chunks(MAX_IDS).map(record).collect()
}

impl State {
    /// Returns the status of a notification in the log; `routed` is whether its route has targets.
    pub fn status(&self, id: Seq, routed: bool) -> Status {
        if self.inboxes.is_pending(id) {
            Status::Pending
        } else if !routed {
            Status::Recorded
        } else {
            self.outcomes.get(id).unwrap_or(Status::Acked)
        }
    }

    /// Fails if a number is above the head, because no record has it.
    pub(super) fn check_ids<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a Seq>,
    ) -> Result<(), Refusal> {
        match ids.into_iter().find(|&&id| id > self.head) {
            Some(&id) => Err(Refusal::UnknownId(id)),
            None => Ok(()),
        }
    }

    pub(super) fn decide_withdraw(
        &self,
        ids: &[Seq],
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        self.check_ids(ids)?;
        let pending = ids.iter().copied();
        let pending = pending.filter(|&id| self.inboxes.is_pending(id)).collect();
        let mut records = settled(pending, None, SettleReason::Withdrawn, None, now);
        records.extend(self.questions.withdrawn(ids, now));
        Ok(records)
    }

    pub(super) fn decide_withdraw_key(
        &self,
        project: &ProjectName,
        from: Option<&InboxName>,
        key: &str,
        now: Timestamp,
    ) -> Vec<Record> {
        let pending = self.inboxes.keyed(project, from, key);
        let questions = self.questions.withdrawn(&pending, now);
        let mut records = settled(pending, None, SettleReason::Withdrawn, None, now);
        records.extend(questions);
        records
    }

    pub(super) fn apply_settled(&mut self, record: &Settled) {
        if record.how == SettleReason::Acked {
            self.questions.note_answers(&record.ids, Progress::Taken);
        }
        for &id in &record.ids {
            let was_pending = match &record.inbox {
                Some((project, name)) => self.inboxes.take_from(project, name, id),
                None => self.inboxes.take(id),
            };
            if was_pending {
                self.settle(id, record.how);
                self.losses.note(id, record.how);
            }
        }
    }

    /// Notes the outcome of a notification that was just removed from an inbox.
    pub(super) fn settle(&mut self, id: Seq, how: SettleReason) {
        self.outcomes.note(id, how);
        self.forget_location(id);
    }
}
