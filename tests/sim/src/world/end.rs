//! The end: all faults are over, and everything that was promised is kept.

use std::time::Duration;

use hub_core::filter::Filter;
use hub_core::waiters::{MAX_BYTES, WaitSpec};
use hub_protocol::{InboxName, ProjectName};

use crate::oracle::Broken;
use crate::world::{World, tell};

/// How often readers ask for the rest. A lease is over after one round.
const ROUNDS: u32 = 60;
/// More requests than a world has.
const MOST_REQUESTS: u64 = 1_000;

impl World {
    pub(super) fn end(&mut self) -> Result<(), Broken> {
        tell!(self, "the end begins");
        self.machine
            .disk
            .set_faults(|it| *it = crate::disk::Faults::default());
        self.calm()?;
        for _ in 0..MOST_REQUESTS {
            if !self.publishers.has_unsettled() {
                break;
            }
            self.publish_again();
            self.write(usize::MAX)?;
            self.pass(10)?;
        }
        self.drain()?;
        self.check_told()?;
        self.stop()?;
        self.calm()
    }

    /// Starts the hub without any fault.
    fn calm(&mut self) -> Result<(), Broken> {
        for _ in 0..3 {
            self.notice_death();
            self.pass(1_000)?;
            if self.process.is_none() {
                self.start()?;
            }
            self.write(usize::MAX)?;
        }
        if self.process.is_none() {
            return Err("the hub does not start although all faults are over".into());
        }
        Ok(())
    }

    /// Reads everything that is pending, and acknowledges it.
    fn drain(&mut self) -> Result<(), Broken> {
        for _ in 0..ROUNDS {
            let places: Vec<(ProjectName, InboxName)> = { self.oracle.state.inboxes.iter(None) }
                .filter(|(_, _, inbox)| !inbox.is_empty())
                .map(|(project, name, _)| (project.clone(), name.clone()))
                .collect();
            if places.is_empty() {
                return Ok(());
            }
            for (project, inbox) in places {
                self.wait_as(last_reader(project, inbox, self.deadline(0)), 0);
            }
            self.write(usize::MAX)?;
            for held in std::mem::take(&mut self.readers.held) {
                self.acknowledge(held.claim);
            }
            self.write(usize::MAX)?;
            self.pass(31_000)?;
        }
        Err("what is pending is not delivered at the end".into())
    }

    /// Checks that each stored notification was read, or ended for a reason that the log tells.
    fn check_told(&self) -> Result<(), Broken> {
        for (id, note) in &self.oracle.notes {
            for spot in &note.spots {
                if !self.oracle.settled.contains_key(spot) {
                    return Err(format!("{id} is lost in {spot:?}"));
                }
            }
        }
        if self.publishers.has_unsettled() {
            return Err("a request with a key is not answered at the end".into());
        }
        Ok(())
    }
}

fn last_reader(project: ProjectName, inbox: InboxName, deadline: std::time::Instant) -> WaitSpec {
    WaitSpec {
        project,
        inboxes: vec![inbox],
        own: false,
        name: None,
        session: None,
        way: None,
        filter: Filter::default(),
        barrier: None,
        settle: Duration::ZERO,
        deadline,
        room: MAX_BYTES,
        drain: true,
        takeover: true,
    }
}
