//! The queue between the writer and the copier: the newest commits, which are durable in a segment and not yet in the store.
//! If it gets too long, the copier reads from the segments instead.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hub_core::sync;
use hub_protocol::Seq;

use super::store::Run;
use crate::journal::Entry;

/// Bytes of entries that justify a copy to the store; just below the amount that the store flushes at once.
pub(super) const COPY_BYTES: usize = 44 * 1024;
/// The longest time that fewer bytes wait for a copy.
const COPY_INTERVAL: Duration = Duration::from_secs(1);
/// The most bytes of entries in the queue.
const MOST_BYTES: usize = 4 << 20;

/// The queue. Readers read from it too.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    /// Notified when there is enough to copy, or when the copier shall end.
    work: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    commits: VecDeque<Commit>,
    bytes: usize,
    closed: bool,
}

#[derive(Debug)]
struct Commit {
    /// The last record before it.
    before: Seq,
    run: Run,
    bytes: usize,
}

impl Commit {
    fn first(&self) -> Seq {
        self.run.entries[0].seq
    }
}

impl QueueState {
    fn pop(&mut self) {
        if let Some(commit) = self.commits.pop_front() {
            self.bytes -= commit.bytes;
        }
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        sync::lock(&self.state)
    }

    /// Adds a commit that is durable in a segment, and comes after the record `before`.
    pub(super) fn push(&self, before: Seq, run: Run) {
        let mut state = self.state();
        let (queued, bytes) = (state.bytes, run.bytes());
        state.bytes += bytes;
        state.commits.push_back(Commit { before, run, bytes });
        if queued < COPY_BYTES && state.bytes >= COPY_BYTES {
            self.work.notify_one();
        }
        while state.bytes > MOST_BYTES && state.commits.len() > 1 {
            state.pop();
        }
    }

    /// Returns entries from `from` on, up to about `max_bytes` of payload but at least one; `None` if the first commit in the
    /// queue is later.
    pub(super) fn read(&self, from: Seq, max_bytes: usize) -> Option<Vec<Entry>> {
        let state = self.state();
        if from < state.commits.front()?.first() {
            return None;
        }
        let at = { &state.commits }.partition_point(|it| it.first() <= from);
        let (mut found, mut size) = (Vec::new(), 0);
        let commits = state.commits.range(at - 1..);
        for entry in commits.flat_map(|it| &it.run.entries) {
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

    /// Returns the oldest commits as one run, if they come after record `head`.
    pub(super) fn next(&self, head: Seq) -> Option<Run> {
        let state = self.state();
        let mut commits = state.commits.iter();
        let first = commits.next().filter(|it| it.before == head)?;
        let (mut run, mut bytes) = (first.run.clone(), first.bytes);
        for next in commits {
            let follows = next.first() == run.last() + 1;
            bytes += next.bytes;
            if bytes > COPY_BYTES || !follows {
                break;
            }
            run.entries.extend_from_slice(&next.run.entries);
        }
        Some(run)
    }

    /// Removes the commits up to record `head`, because the store contains them durably.
    pub(super) fn remove_copied(&self, head: Seq) {
        let mut state = self.state();
        while { state.commits.front() }.is_some_and(|it| it.first() <= head) {
            state.pop();
        }
    }

    /// Whether the commits that come after record `head` are no longer in the queue, so that the segments must be read.
    pub(super) fn begins_after(&self, head: Seq) -> bool {
        let state = self.state();
        { state.commits.front() }.is_none_or(|it| it.before > head)
    }

    /// Lets the copier end.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.work.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Blocks until there is enough to copy, the time for less is over, or the queue is closed.
    pub(super) fn wait(&self) {
        self.wait_while(|state| state.bytes < COPY_BYTES);
    }

    /// Blocks for an interval, or until the queue is closed.
    pub(super) fn rest(&self) {
        self.wait_while(|_| true);
    }

    fn wait_while(&self, idle: impl Fn(&QueueState) -> bool) {
        let is_idle = |state: &mut QueueState| !state.closed && idle(state);
        let waited = { &self.work }.wait_timeout_while(self.state(), COPY_INTERVAL, is_idle);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
