//! Settling: how a notification stops being pending on request.

use hub_protocol::{InboxName, ProjectName, Seq, Timestamp, Way};

use super::State;
use crate::core::command::Refusal;
use crate::core::record::{How, InboxClosed, Record, Reset, Settled};

/// The most numbers in one record: about one block of the journal.
const MAX_IDS: usize = 400;

/// Returns records that settle `ids`, in ascending order; none if `ids` is empty.
pub(super) fn settled(
    mut ids: Vec<Seq>,
    inbox: Option<(&ProjectName, &InboxName)>,
    how: How,
    by: Option<&str>,
    at: Timestamp,
) -> Vec<Record> {
    ids.sort_unstable();
    ids.dedup();
    ids.chunks(MAX_IDS)
        .map(|ids| {
            Record::Settled(Settled {
                ids: ids.to_vec(),
                inbox: inbox.map(|(project, name)| (project.clone(), name.clone())),
                how,
                by: by.map(str::to_owned),
                at,
            })
        })
        .collect()
}

impl State {
    /// Fails if a number is above the head, because no record has it.
    pub(super) fn known(&self, ids: &[Seq]) -> Result<(), Refusal> {
        match ids.iter().find(|&&id| id > self.head) {
            Some(&id) => Err(Refusal::UnknownId(id)),
            None => Ok(()),
        }
    }

    pub(super) fn decide_ack(
        &self,
        project: &ProjectName,
        items: &[(InboxName, Vec<Seq>)],
        by: Option<&str>,
        shown: Option<&(InboxName, Way)>,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let mut records = Vec::new();
        for (name, ids) in items {
            self.known(ids)?;
            let Some(inbox) = self.inboxes.get(project, name) else {
                continue;
            };
            let found = ids.iter().filter_map(|&id| inbox.get(id));
            if let Some((session, way)) = shown
                && self.proves(project, session, name)
            {
                let fresh = found.filter(|item| item.emitted.is_none());
                let fresh = fresh.map(|item| item.seq).collect();
                records.extend(Self::emitted((project, name), fresh, *way, by, now));
                continue;
            }
            let pending = found.map(|item| item.seq).collect();
            records.extend(settled(pending, Some((project, name)), How::Acked, by, now));
        }
        Ok(records)
    }

    pub(super) fn decide_withdraw(
        &self,
        ids: &[Seq],
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        self.known(ids)?;
        let pending = ids
            .iter()
            .copied()
            .filter(|&id| self.inboxes.is_pending(id))
            .collect();
        let mut records = settled(pending, None, How::Withdrawn, None, now);
        records.extend(self.withdrawn_questions(ids, now));
        Ok(records)
    }

    pub(super) fn decide_withdraw_key(
        &self,
        project: &ProjectName,
        from: Option<&InboxName>,
        key: &str,
        now: Timestamp,
    ) -> Vec<Record> {
        let inboxes = self.inboxes.iter(Some(project));
        let pending: Vec<Seq> = inboxes
            .flat_map(|(_, _, inbox)| inbox.keyed(from, key))
            .collect();
        let questions = self.withdrawn_questions(&pending, now);
        let mut records = settled(pending, None, How::Withdrawn, None, now);
        records.extend(questions);
        records
    }

    pub(super) fn decide_close(
        &self,
        project: &ProjectName,
        name: &InboxName,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        let Some(inbox) = self.inboxes.get(project, name) else {
            return Err(Refusal::UnknownInbox {
                project: project.clone(),
                inbox: name.clone(),
                nearest: self.nearest_inbox(project, name),
            });
        };
        let pending = inbox.pending().map(|item| item.seq).collect();
        let mut records = settled(pending, Some((project, name)), How::Dropped, None, now);
        records.push(Record::InboxClosed(InboxClosed {
            project: project.clone(),
            inbox: name.clone(),
            at: now,
        }));
        Ok(records)
    }

    pub(super) fn decide_reset(
        &self,
        project: &ProjectName,
        history: bool,
        now: Timestamp,
    ) -> Vec<Record> {
        let pending = self
            .inboxes
            .iter(Some(project))
            .flat_map(|(_, _, inbox)| inbox.pending())
            .map(|item| item.seq)
            .collect();
        let mut records = self.withdrawn_with(project, now);
        records.extend(settled(pending, None, How::Dropped, None, now));
        records.push(Record::Reset(Reset {
            project: project.clone(),
            history,
            at: now,
        }));
        records
    }

    pub(super) fn apply_reset(&mut self, seq: Seq, record: &Reset) {
        let project = &record.project;
        for id in self.inboxes.close_all(project) {
            self.settle(id, How::Dropped);
        }
        self.sessions.forget_all(project);
        self.listeners.forget_all(project);
        self.sources.forget_all(project);
        if record.history {
            self.questions.forget_all(project);
            self.forget_locations();
            self.hidden.hide(project, seq);
        } else {
            // Each withdrawn question has its own record; this line is for logs from before such records existed.
            self.questions.withdraw_all(project);
        }
    }

    pub(super) fn apply_settled(&mut self, record: &Settled) {
        for &id in &record.ids {
            let was_pending = match &record.inbox {
                Some((project, name)) => self.inboxes.take_from(project, name, id),
                None => self.inboxes.take(id),
            };
            if was_pending {
                self.settle(id, record.how);
            }
        }
    }

    /// Notes the outcome of a notification that was just removed from an inbox.
    pub(super) fn settle(&mut self, id: Seq, how: How) {
        self.outcomes.note(id, how);
        self.forget_location(id);
    }
}
