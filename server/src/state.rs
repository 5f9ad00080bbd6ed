//! The fold: everything the hub knows, from the log alone.
//!
//! [`State::decide`] turns a command into records, [`State::apply`] takes a record in. Both are pure: no I/O, no clock.

use hub_protocol::{Seq, Timestamp};

use crate::command::{Command, Decision, Refusal};
use crate::record::Record;

/// Everything the hub knows.
#[derive(Debug, Clone, Default)]
pub struct State {
    head: Seq,
}

impl State {
    /// What `command` means now: the records to commit, numbered from `head() + 1` in order, or why not.
    pub fn decide(&self, _command: &Command, _now: Timestamp) -> Result<Decision, Refusal> {
        Ok(Decision::Records(Vec::new()))
    }

    /// Takes in the record with the number `seq`, which is `head() + 1`. Cannot fail.
    pub fn apply(&mut self, seq: Seq, _record: &Record) {
        self.head = seq;
    }

    /// The last record taken in.
    pub fn head(&self) -> Seq {
        self.head
    }
}
