//! The person's seen marks: one set for the whole hub, without effect on inboxes.

use hub_protocol::{Seq, Timestamp};

use super::State;
use crate::core::command::Refusal;
use crate::core::record::{Record, Seen};

impl State {
    pub(super) fn decide_seen(
        &self,
        ids: &[Seq],
        up_to: Option<Seq>,
        seen: bool,
        now: Timestamp,
    ) -> Result<Vec<Record>, Refusal> {
        self.check_ids(ids)?;
        self.check_ids(up_to.as_slice())?;
        let up_to = up_to.filter(|&up_to| up_to > 0 && !self.seen.is(1, up_to, seen));
        let mut ids: Vec<Seq> = ids
            .iter()
            .copied()
            .filter(|&id| self.seen.contains(id) != seen)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() && up_to.is_none() {
            return Ok(Vec::new());
        }
        Ok(vec![Record::Seen(Seen {
            ids,
            up_to,
            seen,
            at: now,
        })])
    }

    pub(super) fn apply_seen(&mut self, record: &Seen) {
        if let Some(up_to) = record.up_to {
            self.seen.set(1, up_to, record.seen);
        }
        for &id in &record.ids {
            self.seen.set(id, id, record.seen);
        }
    }
}
