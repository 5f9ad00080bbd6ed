//! The signed calls that a hub has received in its term, so that each counts once.
//!
//! A signature holds for the whole term that the subject names, so a call that was captured could be sent again. Clocks of
//! machines differ, so no time is compared: a node numbers the calls of each of its runs, and signs the number.

use std::collections::{BTreeMap, BTreeSet};

/// How many calls of a run may overtake one: those that are older count as received.
const WINDOW: usize = 4_096;
/// The most runs of one node. It begins one at each of its starts, and a term may last for months.
const MAX_RUNS: usize = 10_000;

/// The calls of one term.
#[derive(Debug, Default)]
pub(super) struct ReceivedCalls {
    term: u64,
    /// By node, the runs with their calls.
    nodes: BTreeMap<String, BTreeMap<String, RunCalls>>,
}

/// The calls of one run of a node.
#[derive(Debug, Default)]
struct RunCalls {
    /// The numbers below count as received.
    below: u64,
    received: BTreeSet<u64>,
}

impl ReceivedCalls {
    /// Notes a call that is signed. Returns whether it may count: its id is none of those that were received in this term.
    pub(super) fn note(&mut self, term: u64, node: &str, id: &str) -> bool {
        if self.term != term {
            *self = Self {
                term,
                ..Self::default()
            };
        }
        let parts = id.rsplit_once('-');
        let Some((run, number)) = parts.and_then(|(run, it)| Some((run, it.parse().ok()?))) else {
            return false;
        };
        // Only nodes that are known sign, so their number is that of the settings.
        let runs = self.nodes.entry(node.to_owned()).or_default();
        if runs.len() >= MAX_RUNS && !runs.contains_key(run) {
            return false;
        }
        runs.entry(run.to_owned()).or_default().note(number)
    }
}

impl RunCalls {
    fn note(&mut self, number: u64) -> bool {
        if number < self.below || !self.received.insert(number) {
            return false;
        }
        if self.received.len() > WINDOW
            && let Some(oldest) = self.received.pop_first()
        {
            self.below = oldest + 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_once_in_a_term_in_any_order() {
        let mut calls = ReceivedCalls::default();
        for id in ["ab-0", "ab-2", "ab-1", "cd-1"] {
            assert!(calls.note(7, "b", id), "{id}");
            assert!(!calls.note(7, "b", id), "{id} again");
        }
        assert!(calls.note(7, "c", "ab-1"), "of another node");
        assert!(!calls.note(7, "b", "ab-0"));
        for id in ["", "1", "ab-", "ab-x", "ab-99999999999999999999"] {
            assert!(!calls.note(7, "b", id), "{id}");
        }
        assert!(
            calls.note(9, "b", "ab-0"),
            "its signature holds for one term"
        );
    }

    #[test]
    fn a_forgotten_call_counts_as_received() {
        let mut calls = ReceivedCalls::default();
        for number in 1..=2 * WINDOW {
            assert!(calls.note(1, "b", &format!("r-{number}")));
        }
        for number in 0..=2 * WINDOW {
            assert!(!calls.note(1, "b", &format!("r-{number}")), "{number}");
        }
        for run in 1..MAX_RUNS {
            assert!(calls.note(1, "b", &format!("r{run}-0")));
        }
        assert!(!calls.note(1, "b", "more-0"));
        assert!(calls.note(1, "c", "more-0"), "other nodes go on");
    }
}
