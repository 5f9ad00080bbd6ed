//! The writer of a hub in a cluster: it becomes the active one, follows another one, and steps down.

use std::sync::Arc;

use hub_core::command::Command;
use hub_core::record::Record;
use hub_core::time::Now;
use hub_log::Event;
use hub_log::journal::{Health, JournalError, SharedCommit};

use super::{DoneSender, Writer};

impl Writer {
    /// Whether this hub may neither decide commands nor lease notifications, because another one may be active.
    pub(super) fn stands_by(&self) -> bool {
        self.log.journal().health() == Health::Standby
    }

    /// Becomes the active hub with the commit of `command`, which fails if another hub has appended since, and is refused if
    /// the time of the lease is over.
    pub(super) fn lead(
        &mut self,
        command: Command,
        reply: DoneSender,
        now: Now,
    ) -> Result<(), JournalError> {
        // Leases are not in the log, so the hub that was active may have delivered every pending notification.
        self.waiters.write().restart(self.state.head(), now.mono);
        self.log.journal().lead(true);
        self.leads = true;
        let head = self.state.head();
        self.carry_out(vec![(command, reply)], now)?;
        if self.state.head() == head {
            // Otherwise this hub would neither append nor follow.
            self.step_down(now);
        }
        Ok(())
    }

    /// Stops appending. Drops all waits, which their clients repeat at the active hub.
    pub(super) fn step_down(&mut self, now: Now) {
        self.log.journal().lead(false);
        if std::mem::take(&mut self.leads) {
            self.waiters.write().restart(self.state.head(), now.mono);
        }
    }

    /// Stores and applies commits of the active hub.
    pub(super) fn follow(
        &mut self,
        mut commits: &[SharedCommit],
        now: Now,
    ) -> Result<(), JournalError> {
        while !commits.is_empty() {
            let (taken, entries) = self.log.journal().follow(commits)?;
            commits = &commits[taken..];
            if entries.is_empty() {
                continue;
            }
            self.step_down(now);
            let events: Vec<Arc<Event>> = entries
                .into_iter()
                .map(|entry| Arc::new(entry.into()))
                .collect();
            for event in &events {
                let entry = event.entry();
                let Some(record) = event.record() else {
                    // The event does not keep why it could not be decoded.
                    let error = Record::decode(entry.kind, &entry.payload).err();
                    let reason = error.map(|it| it.to_string()).unwrap_or_default();
                    let at = entry.seq;
                    return Err(JournalError::Corrupt { at, reason });
                };
                self.state.apply(entry.seq, record);
            }
            self.log.publish(&events);
        }
        Ok(())
    }
}
