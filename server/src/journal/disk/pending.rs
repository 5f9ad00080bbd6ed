//! Commits that are durable in the write-ahead log and not yet in the store.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hub_protocol::Seq;

use super::wal::Half;
use crate::journal::{Entry, JournalError, block};

/// Bytes of entries that are worth a flush of the store; just below what it flushes at once.
const WORTH: usize = 28 * 1024;
/// What is worth less waits no longer than this, so that the epoch file is never far behind.
const PATIENCE: Duration = Duration::from_secs(1);

/// The queue between the writer and the mover; readers look into it.
#[derive(Debug, Default)]
pub(super) struct Pending {
    state: Mutex<State>,
    /// There is something to move, or it is time to end.
    work: Condvar,
    /// Something was moved, or cannot be.
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    commits: VecDeque<Commit>,
    bytes: usize,
    /// How many commits lie in each half of the log.
    in_half: [usize; 2],
    /// The writer waits for room.
    urgent: bool,
    /// Why nothing is moved now.
    stuck: Option<Stuck>,
    ending: bool,
}

#[derive(Debug)]
struct Commit {
    half: Half,
    entries: Vec<Entry>,
    bytes: usize,
}

/// Some of the oldest commits as one.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) commits: usize,
    pub(super) entries: Vec<Entry>,
}

/// Why nothing can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stuck {
    /// The disk is full: it is tried again.
    Full,
    /// The store failed, for good.
    Failed,
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a commit that is durable in `half` of the log.
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
        // Woken for the first and for the one that makes it worth it, not for each.
        let worth = before < WORTH && state.bytes >= WORTH;
        if state.commits.len() == 1 || worth {
            self.work.notify_one();
        }
    }

    /// Bytes of entries.
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes as u64
    }

    /// Entries from `from` on, up to about `max_bytes` of payload but at least one; `None` where the store has `from`.
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

    /// Waits until nothing that must be kept lies in `half` of the log.
    pub(super) fn wait_for_half(&self, half: Half) -> Result<(), JournalError> {
        self.wait_until(|state| state.in_half[half] == 0)
    }

    /// Waits until the store has everything.
    pub(super) fn wait_for_all(&self) -> Result<(), JournalError> {
        self.wait_until(|state| state.commits.is_empty())
    }

    fn wait_until(&self, done: impl Fn(&State) -> bool) -> Result<(), JournalError> {
        let mut state = self.state();
        let waited = loop {
            match state.stuck {
                _ if done(&state) => break Ok(()),
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

    /// Lets [`Self::next`] give what is left, and then nothing more.
    pub(super) fn end(&self) {
        self.state().ending = true;
        self.work.notify_one();
    }

    /// The next commits to move, when they are worth it or have waited; `None` at the end.
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

    /// The store holds the first `commits`, durably.
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

    /// Says that nothing can be moved, and waits before it is tried again; whether it may be.
    pub(super) fn stuck(&self, why: Stuck) -> bool {
        let mut state = self.state();
        state.stuck = Some(why);
        self.moved.notify_one();
        if why == Stuck::Failed {
            return false;
        }
        let waited = self
            .work
            .wait_timeout_while(state, PATIENCE, |state| !state.ending);
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
