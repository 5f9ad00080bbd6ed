//! The thread that moves commits from the write-ahead log into the store.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::Shared;
use super::pending::Stuck;
use crate::log::journal::JournalError;

/// A handle to the thread. [`Mover::end`] lets it move the remaining commits and waits for it.
#[derive(Debug)]
pub(super) struct Mover {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Mover {
    pub(super) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let moving = Arc::clone(shared);
        let thread = thread::Builder::new()
            .name("journal-mover".into())
            .spawn(move || run(&moving))?;
        Ok(Self {
            shared: Arc::clone(shared),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Lets the thread move the remaining commits, and waits until it has finished.
    pub(super) fn end(&self) {
        self.shared.pending.end();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared) {
    while let Some(batch) = shared.pending.next() {
        // Without this, a writer that waits for room in the log would wait forever after a panic.
        let stored = catch_unwind(AssertUnwindSafe(|| shared.store.store(&batch.entries)));
        let stuck = match stored {
            Ok(Ok(())) => {
                shared.pending.forget(batch.commits);
                continue;
            }
            Ok(Err(JournalError::Full)) => Stuck::Full,
            Ok(Err(_)) => Stuck::Failed,
            Err(_) => {
                let panicked = io::Error::other("the mover of the journal panicked");
                shared.store.failed(&panicked.into());
                Stuck::Failed
            }
        };
        if !shared.pending.stuck(stuck) {
            return;
        }
    }
}
