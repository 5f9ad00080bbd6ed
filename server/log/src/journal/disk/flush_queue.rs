//! The queue between the writer and the WAL flusher: commits that are durable in the write-ahead log and not yet in the
//! store.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hub_core::sync;
use hub_protocol::Seq;

use super::wal::Half;
use crate::journal::{Entry, JournalError, block};

/// Bytes of entries that justify a flush of the store; just below the amount that the store flushes at once.
const FLUSH_BYTES: usize = 28 * 1024;
/// The longest time that fewer bytes wait for a flush; it also bounds how old the epoch file gets.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The queue. Readers read from it too.
#[derive(Debug, Default)]
pub(super) struct FlushQueue {
    state: Mutex<QueueState>,
    /// Notified when there are commits to flush, or when the flusher shall end.
    work: Condvar,
    /// Notified when commits were flushed, or cannot be flushed.
    flushed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    commits: VecDeque<Commit>,
    bytes: usize,
    /// The number of queued commits in each half of the log.
    in_half: [usize; 2],
    /// Whether the writer waits for room in the log.
    urgent: bool,
    /// Why the last flush failed; `None` after a successful one.
    failure: Option<FlushFailure>,
    closed: bool,
}

#[derive(Debug)]
struct Commit {
    half: Half,
    entries: Vec<Entry>,
    bytes: usize,
}

/// Some of the oldest commits, merged into one.
#[derive(Debug)]
pub(super) struct FlushBatch {
    pub(super) commits: usize,
    pub(super) entries: Vec<Entry>,
}

/// Why commits cannot be flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushFailure {
    /// The disk is full; the flusher retries.
    Full,
    /// The store failed; the flusher ends.
    Failed,
}

impl FlushQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        sync::lock(&self.state)
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
        // Wake the flusher for the first commit and for the one that reaches `FLUSH_BYTES`, not for every one.
        let worth = before < FLUSH_BYTES && state.bytes >= FLUSH_BYTES;
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

    fn wait_until(&self, done: impl Fn(&QueueState) -> bool) -> Result<(), JournalError> {
        let mut state = self.state();
        let mut may_retry = true;
        let waited = loop {
            match state.failure {
                _ if done(&state) => break Ok(()),
                // The disk may have room since: a first failure releases the reserve. So retry once.
                Some(FlushFailure::Full) if may_retry => {
                    state.failure = None;
                    may_retry = false;
                }
                Some(FlushFailure::Full) => break Err(JournalError::Full),
                Some(FlushFailure::Failed) => {
                    break Err(io::Error::other("the store of the journal failed").into());
                }
                None => {}
            }
            state.urgent = true;
            self.work.notify_one();
            state = sync::wait(&self.flushed, state);
        };
        state.urgent = false;
        waited
    }

    /// Makes [`Self::next`] return the remaining commits, and then `None`.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.work.notify_one();
    }

    /// Blocks until commits are worth a flush, or have waited long enough, and returns them; `None` once the queue is
    /// closed and empty.
    pub(super) fn next(&self) -> Option<FlushBatch> {
        let mut state = self.state();
        let mut patient = true;
        loop {
            let due = state.bytes >= FLUSH_BYTES || state.urgent || state.closed || !patient;
            if state.commits.is_empty() {
                if state.closed {
                    return None;
                }
                patient = true;
                state = sync::wait(&self.work, state);
            } else if due {
                return Some(state.batch());
            } else {
                let waited = self.work.wait_timeout(state, FLUSH_INTERVAL);
                let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                (state, patient) = (next, !timeout.timed_out());
            }
        }
    }

    /// Removes the first `commits` from the queue, because the store contains them durably.
    pub(super) fn remove_flushed(&self, commits: usize) {
        let mut state = self.state();
        for _ in 0..commits {
            if let Some(commit) = state.commits.pop_front() {
                state.bytes -= commit.bytes;
                state.in_half[commit.half] -= 1;
            }
        }
        state.failure = None;
        self.flushed.notify_one();
    }

    /// Records why commits cannot be flushed, and waits before a retry. Returns whether the flusher shall retry.
    pub(super) fn should_retry(&self, failure: FlushFailure) -> bool {
        let mut state = self.state();
        state.failure = Some(failure);
        self.flushed.notify_one();
        if failure == FlushFailure::Failed {
            return false;
        }
        let waited = self
            .work
            .wait_timeout_while(state, FLUSH_INTERVAL, |state| {
                !state.closed && !state.urgent
            });
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.closed
    }
}

impl QueueState {
    fn batch(&self) -> FlushBatch {
        let mut batch = FlushBatch {
            commits: 0,
            entries: Vec::new(),
        };
        let mut bytes = 0;
        for commit in &self.commits {
            bytes += commit.bytes;
            if bytes > FLUSH_BYTES && batch.commits > 0 {
                break;
            }
            batch.commits += 1;
            batch.entries.extend_from_slice(&commit.entries);
        }
        batch
    }
}
