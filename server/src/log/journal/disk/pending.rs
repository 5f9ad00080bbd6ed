//! Commits that are durable in the write-ahead log and not yet in the store.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hub_protocol::Seq;

use super::wal::Half;
use crate::log::journal::{Entry, JournalError, block};

/// Bytes of entries that justify a flush of the store; just below the amount that the store flushes at once.
const WORTH: usize = 28 * 1024;
/// The longest time that fewer bytes wait for a flush; it also bounds how old the epoch file gets.
const PATIENCE: Duration = Duration::from_secs(1);

/// The queue between the writer and the mover. Readers read from it too.
#[derive(Debug, Default)]
pub(super) struct Pending {
    state: Mutex<State>,
    /// Notified when there are commits to move, or when the mover shall end.
    work: Condvar,
    /// Notified when commits were moved, or cannot be moved.
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    commits: VecDeque<Commit>,
    bytes: usize,
    /// The number of queued commits in each half of the log.
    in_half: [usize; 2],
    /// Whether the writer waits for room in the log.
    urgent: bool,
    /// Why the last move failed; `None` after a successful one.
    stuck: Option<Stuck>,
    ending: bool,
}

#[derive(Debug)]
struct Commit {
    half: Half,
    entries: Vec<Entry>,
    bytes: usize,
}

/// Some of the oldest commits, merged into one.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) commits: usize,
    pub(super) entries: Vec<Entry>,
}

/// Why commits cannot be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stuck {
    /// The disk is full; the mover retries.
    Full,
    /// The store failed; the mover ends.
    Failed,
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a commit that is durable in `half` of the log.
    pub(super) fn push(&self, half: Half, entries: Vec<Entry>) {
        let bytes = entries.iter().map(block::stored_len).sum();
        let mut state = self.state();
        let before = state.bytes;
        state.bytes += bytes;
        state.in_half[half] += 1;
        let commit = Commit {
            half,
            entries,
            bytes,
        };
        state.commits.push_back(commit);
        // Wake the mover for the first commit and for the one that reaches `WORTH`, not for every one.
        let worth = before < WORTH && state.bytes >= WORTH;
        if state.commits.len() == 1 || worth {
            self.work.notify_one();
        }
    }

    /// Returns the size of the queued entries in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes as u64
    }

    /// Returns entries from `from` on, up to about `max_bytes` of payload but at least one; `None` if the store
    /// contains `from`.
    pub(super) fn read(&self, from: Seq, max_bytes: usize) -> Option<Vec<Entry>> {
        let state = self.state();
        let begins = |commit: &Commit| commit.entries.first().map_or(0, |entry| entry.seq);
        if from < begins(state.commits.front()?) {
            return None;
        }
        let at = state
            .commits
            .partition_point(|commit| begins(commit) <= from);
        let (mut found, mut size) = (Vec::new(), 0);
        let commits = state.commits.range(at - 1..);
        for entry in commits.flat_map(|commit| &commit.entries) {
            if entry.seq < from {
                continue;
            }
            size += entry.payload.len();
            if size > max_bytes && !found.is_empty() {
                break;
            }
            found.push(entry.clone());
        }
        Some(found)
    }

    /// Waits until the store durably contains every commit in `half` of the log. Fails if the store failed or stays
    /// full.
    pub(super) fn wait_for_half(&self, half: Half) -> Result<(), JournalError> {
        self.wait_until(|state| state.in_half[half] == 0)
    }

    /// Waits until the store durably contains every commit. Fails if the store failed or stays full.
    pub(super) fn wait_for_all(&self) -> Result<(), JournalError> {
        self.wait_until(|state| state.commits.is_empty())
    }

    fn wait_until(&self, done: impl Fn(&State) -> bool) -> Result<(), JournalError> {
        let mut state = self.state();
        let mut again = true;
        let waited = loop {
            match state.stuck {
                _ if done(&state) => break Ok(()),
                // The disk may have room since: a first failure releases the reserve. So retry once.
                Some(Stuck::Full) if again => {
                    state.stuck = None;
                    again = false;
                }
                Some(Stuck::Full) => break Err(JournalError::Full),
                Some(Stuck::Failed) => {
                    break Err(io::Error::other("the store of the journal failed").into());
                }
                None => {}
            }
            state.urgent = true;
            self.work.notify_one();
            state = self
                .moved
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        state.urgent = false;
        waited
    }

    /// Makes [`Self::next`] return the remaining commits, and then `None`.
    pub(super) fn end(&self) {
        self.state().ending = true;
        self.work.notify_one();
    }

    /// Blocks until commits are worth a flush, or have waited long enough, and returns them; `None` at the end.
    pub(super) fn next(&self) -> Option<Batch> {
        let mut state = self.state();
        let mut patient = true;
        loop {
            let due = state.bytes >= WORTH || state.urgent || state.ending || !patient;
            if state.commits.is_empty() {
                if state.ending {
                    return None;
                }
                patient = true;
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            } else if due {
                return Some(state.batch());
            } else {
                let waited = self.work.wait_timeout(state, PATIENCE);
                let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                (state, patient) = (next, !timeout.timed_out());
            }
        }
    }

    /// Removes the first `commits` from the queue, because the store contains them durably.
    pub(super) fn forget(&self, commits: usize) {
        let mut state = self.state();
        for _ in 0..commits {
            if let Some(commit) = state.commits.pop_front() {
                state.bytes -= commit.bytes;
                state.in_half[commit.half] -= 1;
            }
        }
        state.stuck = None;
        self.moved.notify_one();
    }

    /// Records why commits cannot be moved, and waits before a retry. Returns whether the mover shall retry.
    pub(super) fn stuck(&self, why: Stuck) -> bool {
        let mut state = self.state();
        state.stuck = Some(why);
        self.moved.notify_one();
        if why == Stuck::Failed {
            return false;
        }
        let waited = self
            .work
            .wait_timeout_while(state, PATIENCE, |state| !state.ending && !state.urgent);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.ending
    }
}

impl State {
    fn batch(&self) -> Batch {
        let mut batch = Batch {
            commits: 0,
            entries: Vec::new(),
        };
        let mut bytes = 0;
        for commit in &self.commits {
            bytes += commit.bytes;
            if bytes > WORTH && batch.commits > 0 {
                break;
            }
            batch.commits += 1;
            batch.entries.extend_from_slice(&commit.entries);
        }
        batch
    }
}
