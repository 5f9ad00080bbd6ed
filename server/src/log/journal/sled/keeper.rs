//! The journal's background thread: it updates the epoch file every second and slowly verifies all blocks.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hub_protocol::Seq;

use super::Shared;
use crate::log::journal::{Health, JournalError};

const EVERY: Duration = Duration::from_secs(1);
/// The number of rounds in which the whole journal is verified: half an hour. A round verifies at least `FEWEST`
/// blocks.
const ROUNDS: u64 = 1800;
const FEWEST: u64 = 64;
/// An estimate, to compute how many blocks a round verifies.
const RECORDS_PER_BLOCK: u64 = 8;

/// A handle to the thread; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Keeper {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let (shared, signal) = (shared.clone(), stop.clone());
        let thread = thread::Builder::new()
            .name("journal-keeper".into())
            .spawn(move || {
                let mut at = shared.earliest();
                while !is_stopped(&signal) {
                    at = round(&shared, at);
                }
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn is_stopped((stopped, signal): &(Mutex<bool>, Condvar)) -> bool {
    let stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = signal.wait_timeout_while(stopped, EVERY, |stopped| !*stopped);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Does the work of one second. Returns the record at which the next round continues.
fn round(shared: &Shared, at: Seq) -> Seq {
    if let Err(error) = shared.mark() {
        shared.fail(&error);
    }
    // Check the free space here, because another program may fill the disk while no publish checks it.
    shared.space.has_room(0, shared.kept());
    shared.health();
    let (earliest, head) = (shared.earliest(), shared.head());
    let at = if at < earliest || at > head {
        earliest
    } else {
        at
    };
    let blocks = FEWEST.max(head.saturating_sub(earliest) / RECORDS_PER_BLOCK / ROUNDS);
    match shared.scrub_some(at, usize::try_from(blocks).unwrap_or(usize::MAX)) {
        Ok(next) => next,
        Err(JournalError::Corrupt { at: broken, reason }) => {
            tracing::error!(at = broken, reason, "the journal is corrupt");
            shared.report(Health::Corrupt { at: broken, reason });
            at
        }
        Err(error) => {
            tracing::warn!(%error, "the journal could not be verified");
            at
        }
    }
}
