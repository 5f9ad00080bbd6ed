//! The WAL flusher: the thread that stores the commits of the write-ahead log in sled.
//!
//! If sled has no space for a commit, the commit stays in the log and the flusher retries. The hub refuses new
//! notifications before the log is full.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use hub_core::sync;

use super::DiskShared;
use super::flush_queue::FlushFailure;
use crate::journal::JournalError;

/// A handle to the thread. [`WalFlusher::finish`] lets it store the remaining commits, and joins it.
#[derive(Debug)]
pub(super) struct WalFlusher {
    shared: Arc<DiskShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl WalFlusher {
    pub(super) fn start(shared: &Arc<DiskShared>) -> io::Result<Self> {
        let own = Arc::clone(shared);
        let thread = thread::Builder::new()
            .name("wal-flusher".into())
            .spawn(move || run(&own))?;
        Ok(Self {
            shared: Arc::clone(shared),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Lets the thread store the remaining commits, and waits until it has ended.
    pub(super) fn finish(&self) {
        self.shared.queue.close();
        if let Some(thread) = sync::lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &DiskShared) {
    while let Some(batch) = shared.queue.next() {
        // Without this, a writer that waits for room in the log would wait forever after a panic.
        let stored = catch_unwind(AssertUnwindSafe(|| {
            shared.store.store(&batch.entries)?;
            // Before the log's room is free: until then, the commits are also where the writer checked that they are.
            shared.store.check_place()
        }));
        let failure = match stored {
            Ok(Ok(())) => {
                shared.queue.remove_flushed(batch.commits);
                continue;
            }
            Ok(Err(JournalError::Full)) => FlushFailure::Full,
            Ok(Err(_)) => FlushFailure::Failed,
            Err(_) => {
                let panicked = io::Error::other("the WAL flusher panicked");
                shared.store.handle_failed_log_write(&panicked.into());
                FlushFailure::Failed
            }
        };
        if !shared.queue.should_retry(failure) {
            return;
        }
    }
}
