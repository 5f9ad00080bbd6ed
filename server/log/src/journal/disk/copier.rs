//! The copier: the thread that stores the segments' records in the store, notes in the epoch file what is durable, compares the
//! two copies, and repairs each from the other.
//!
//! An empty store is one that is far behind. If the store has no space for a commit, the copier retries; the hub refuses new
//! notifications meanwhile.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hub_core::sync;
use hub_protocol::Seq;

use super::DiskShared;
use super::store::{READ_BYTES, Run};
use crate::journal::{JournalError, snapshot};

/// How often to note what is durable, and to compare and repair.
const ROUND: Duration = Duration::from_secs(1);
/// How often to see whether the next segment is needed soon. A busy hub fills half of one in twice this time.
const PREPARED: Duration = Duration::from_millis(200);
/// How often the progress of a long copy is logged.
const TOLD: Duration = Duration::from_secs(5);

/// A handle to the thread. [`Copier::finish`] lets it store the newest commits, and joins it.
#[derive(Debug)]
pub(super) struct Copier {
    shared: Arc<DiskShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Copier {
    pub(super) fn start(shared: &Arc<DiskShared>) -> io::Result<Self> {
        let own = Arc::clone(shared);
        let thread = thread::Builder::new()
            .name("copier".into())
            .spawn(move || run(&own))?;
        Ok(Self {
            shared: Arc::clone(shared),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Lets the thread store the newest commits, and waits until it has ended.
    pub(super) fn finish(&self) {
        self.shared.queue.close();
        if let Some(thread) = sync::lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &DiskShared) {
    let (mut round, mut prepared) = (Timer::default(), Timer::default());
    let (mut marked, mut progress) = (Timer::default(), Progress::default());
    let mut mark = || {
        if marked.is_due(ROUND) {
            shared.mark();
        }
    };
    loop {
        mark();
        if prepared.is_due(PREPARED) {
            shared.prepare_next();
        }
        if round.is_due(ROUND) {
            shared.round(&mut mark);
        }
        let (is_behind, is_closed) = (shared.is_far_behind(), shared.queue.is_closed());
        if is_closed && (is_behind || shared.store.damage().is_some()) {
            // The next start goes on.
            return;
        }
        if !is_behind && !is_closed {
            shared.queue.wait();
        }
        match shared.copy_some() {
            Ok(true) => progress.tell(shared, is_behind),
            Ok(false) | Err(JournalError::Full) if is_closed => return,
            // A repair comes first.
            Ok(false) if is_behind => shared.queue.rest(),
            Ok(false) => {}
            Err(JournalError::Full) => shared.queue.rest(),
            Err(_) => return,
        }
    }
}

/// When something was done last.
#[derive(Default)]
struct Timer(Option<Instant>);

impl Timer {
    /// Whether it is to be done again after `pause`; then it counts as done.
    fn is_due(&mut self, pause: Duration) -> bool {
        let is_due = self.0.is_none_or(|last| last.elapsed() >= pause);
        if is_due {
            self.0 = Some(Instant::now());
        }
        is_due
    }
}

/// The progress of a copy that takes long.
#[derive(Default)]
struct Progress(Option<Instant>);

impl Progress {
    fn tell(&mut self, shared: &DiskShared, is_behind: bool) {
        let told = self.0.get_or_insert_with(Instant::now);
        if !is_behind {
            self.0 = None;
        } else if told.elapsed() >= TOLD {
            *told = Instant::now();
            let (copied, head) = (shared.store.head(), shared.head());
            tracing::info!(copied, head, "the store gets records from the segments");
        }
    }
}

impl DiskShared {
    /// Whether the next records for the store are no longer in the queue.
    fn is_far_behind(&self) -> bool {
        let head = self.store.head();
        head < self.head() && self.queue.begins_after(head)
    }

    /// Stores the next records. Returns whether there were any. A failure has stopped the journal, but for a full disk.
    pub(super) fn copy_some(&self) -> Result<bool, JournalError> {
        let _working = self.repairs.work();
        let (head, _) = self.store.end();
        if head >= self.head() || self.store.damage().is_some() {
            return Ok(false);
        }
        let run = match self.queue.next(head) {
            Some(run) => run,
            None => match self.next_in_segments(head) {
                Ok(run) => run,
                Err(error) => {
                    tracing::debug!(%error, "the segments cannot be copied");
                    return Err(JournalError::Full);
                }
            },
        };
        match self.store.store(&run) {
            Err(JournalError::Corrupt { reason, .. }) => {
                self.store.report_damage(reason);
                return Ok(false);
            }
            stored => stored?,
        }
        let found = self.store.check_place();
        found.map_err(|error| self.report_gone(error))?;
        self.queue.remove_copied(self.store.head());
        Ok(true)
    }

    /// Whether a store may go on without the lost records up to `last`: the fold has them in a snapshot, or was adopted without
    /// them. Else the next start is refused, because a fold without them would be wrong.
    fn accounts_for(&self, last: Seq) -> bool {
        let folded = || snapshot::newest_seq(&*self.files.disk, &self.files.snapshots());
        self.is_adopted.load(Ordering::Relaxed) || last <= folded()
    }

    fn next_in_segments(&self, head: Seq) -> Result<Run, JournalError> {
        let to = self.head();
        match self.segments.run(head + 1, to, READ_BYTES) {
            Err(JournalError::Corrupt { at, reason }) => {
                let next = self.segments.next_readable(head + 2)?;
                let next = next.filter(|next| *next <= to);
                match next {
                    Some(next) if self.accounts_for(next - 1) => {
                        self.segments.run(next, to, READ_BYTES)
                    }
                    _ => Err(JournalError::Corrupt { at, reason }),
                }
            }
            found => found,
        }
    }
}
