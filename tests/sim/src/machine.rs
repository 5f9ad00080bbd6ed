//! One hub as a process: the real fold, writer, waiters, log, readers' fold and archive, on a simulated disk.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hub_core::command::Command;
use hub_core::fold::State;
use hub_core::rule::RuleSet;
use hub_core::sync;
use hub_core::waiters::{SharedWaiters, Waiters, WakeLimits};
use hub_engine::metrics::Metrics;
use hub_engine::writer::{Ask, Writer};
use hub_log::Log;
use hub_log::archive::{self, ArchiveInputs, ArchiveWorker, RetentionPolicy, SnapshotPolicy};
use hub_log::journal::disk::{DiskJournal, Store as _};
use hub_log::journal::sled::Options;
use hub_log::journal::snapshot::Snapshots;
use hub_log::journal::{Journal, JournalError};
use hub_log::view::View;
use hub_protocol::{Seq, Timestamp};
use tokio::sync::watch;

use crate::disk::SimDisk;
use crate::rng::Rng;
use crate::store::{EPOCH, ModelStore, Stored, files};
use crate::time::Clocks;

/// A byte cap that no log reaches.
const UNREACHED: u64 = 1 << 30;

/// The settings of a hub, which stay the same over its restarts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// Bytes of a segment.
    pub(crate) segment_bytes: u64,
    /// When a snapshot is due.
    pub(crate) snapshots: SnapshotPolicy,
    /// The retention of the log.
    pub(crate) retention: RetentionPolicy,
    /// How often a session may be woken.
    pub(crate) limits: WakeLimits,
}

impl Settings {
    /// Settings that a seed decides: small logs, frequent snapshots.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let limits = *rng.pick(&[(3, 10), (1000, 100_000)]);
        Self {
            segment_bytes: *rng.pick(&[4, 16, 64]) << 10,
            snapshots: SnapshotPolicy {
                records: rng.between(20, 400),
                bytes: 16 << 20,
            },
            retention: RetentionPolicy {
                max_age_ms: 30 * 24 * 3600 * 1000,
                max_bytes: *rng.pick(&[16 << 10, 40 << 10, 100 << 10, UNREACHED]),
            },
            limits: WakeLimits {
                per_sender_per_minute: limits.0,
                per_hour: limits.1,
            },
        }
    }

    /// How long the log keeps a record in milliseconds, if it has room for all.
    pub(crate) fn kept_ms(&self) -> Option<i64> {
        let policy = &self.retention;
        (policy.max_bytes == UNREACHED).then_some(policy.max_age_ms)
    }

    /// Whether the limits never hold anything back.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.limits.per_hour > 1000
    }
}

/// The remains of a hub whose process has ended.
#[derive(Debug)]
pub(crate) struct Machine {
    /// The disk.
    pub(crate) disk: SimDisk,
    /// The durable content of the store.
    pub(crate) stored: Stored,
    /// The last notification that a clean stop left without acknowledgement; `None` after any other end.
    pub(crate) offered: Option<Seq>,
}

/// A running hub.
pub(crate) struct Process {
    /// The log, for readers.
    pub(crate) log: Arc<Log>,
    /// The readers' fold.
    pub(crate) view: Arc<View>,
    /// The waiters.
    pub(crate) waiters: SharedWaiters,
    /// The journal.
    pub(crate) journal: Arc<DiskJournal>,
    /// The fold that it began with.
    pub(crate) recovered: State,
    store: Arc<ModelStore>,
    writer: Writer,
    due: watch::Receiver<Option<Instant>>,
    archive: ArchiveWorker,
    /// The wall clock, as the archive reads it.
    wall: Arc<AtomicI64>,
    /// The commands that the archive has submitted.
    submitted: Arc<Mutex<Vec<Command>>>,
}

impl Machine {
    /// A machine without any state.
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            disk: SimDisk::new(rng),
            stored: Stored::default(),
            offered: Some(0),
        }
    }

    /// Starts the hub.
    pub(crate) fn start(
        &mut self,
        settings: &Settings,
        clocks: &Clocks,
    ) -> Result<Process, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let disk = self.disk.for_new_process();
        let files = files(&disk);
        let store = ModelStore::open(&files, Arc::clone(&disk), self.stored.clone(), None);
        let store = Arc::new(store.map_err(|error| text(&error))?);
        let options = Options {
            segment_bytes: settings.segment_bytes,
            ..Options::default()
        };
        let opened = DiskJournal::over(Arc::clone(&store) as Arc<_>, &files, options);
        let journal = Arc::new(opened.map_err(|error| text(&error))?);
        archive::record_clock_jump(&*journal, clocks.wall()).map_err(|error| text(&error))?;
        let snapshots = Snapshots::on(Arc::clone(&files.disk), &files.snapshots(), EPOCH);
        let recovered = archive::recover(&*journal, &snapshots).map_err(|error| text(&error))?;
        let head = journal.head();
        let offered = self.offered.take().unwrap_or(head);
        let waiters = Waiters::new(settings.limits, offered, head, clocks.mono());
        let waiters = SharedWaiters::from(waiters);
        let log = Arc::new(Log::new(Arc::clone(&journal) as Arc<dyn Journal>));
        for (project, below) in recovered.state.hidden.iter() {
            log.hide(project, below);
        }
        let (due_sender, due) = watch::channel(None);
        let wall = Arc::new(AtomicI64::new(clocks.wall_ms));
        let clock = Arc::clone(&wall);
        let inputs = ArchiveInputs {
            snapshots,
            last_snapshot: recovered.snapshot,
            due: settings.snapshots,
            retention: settings.retention,
            clock: Box::new(move || Timestamp::from_millis(clock.load(Ordering::Relaxed))),
        };
        let state = recovered.state.clone();
        let view = Arc::new(View::new(Arc::clone(&log), recovered));
        let writer = Writer::new(
            Arc::clone(&view),
            waiters.clone(),
            due_sender,
            Arc::new(Metrics::new()),
            Arc::new(RuleSet::default()),
        );
        let submitted = Arc::new(Mutex::new(Vec::new()));
        let queue = Arc::clone(&submitted);
        let submit = move |command| {
            sync::lock(&queue).push(command);
            true
        };
        let archive = ArchiveWorker::new(inputs, Arc::clone(&view), Box::new(submit));
        Ok(Process {
            log,
            view,
            waiters,
            journal,
            recovered: state,
            store,
            writer,
            due,
            archive,
            wall,
            submitted,
        })
    }
}

impl Process {
    /// Lets the writer carry out `asks`.
    pub(crate) fn step(&mut self, asks: Vec<Ask>, clocks: &Clocks) -> Result<(), JournalError> {
        self.writer.step(asks.into_iter(), clocks.now())
    }

    /// Returns when the writer has to get a tick.
    pub(crate) fn due(&self) -> Option<Instant> {
        *self.due.borrow()
    }

    /// Does a round of the archive; returns the commands that it submits.
    pub(crate) fn archive(&mut self, clocks: &Clocks) -> Result<Vec<Command>, String> {
        self.wall.store(clocks.wall_ms, Ordering::Relaxed);
        let done = self.archive.round();
        done.map_err(|error| error.to_string())?;
        Ok(std::mem::take(&mut *sync::lock(&self.submitted)))
    }

    /// Copies the next commits to the store, and repairs what is damaged.
    pub(crate) fn copy(&self) {
        self.journal.copy();
    }

    /// Notes the durable head in the epoch file.
    pub(crate) fn mark(&self) {
        self.store.mark();
    }

    /// Stops the hub as a signal does; returns the last notification that may have been delivered.
    pub(crate) fn stop(mut self) -> Option<Seq> {
        let saved = self.archive.finish();
        let closed = self.journal.close();
        (saved.is_ok() && closed.is_ok()).then(|| self.waiters.read().offered())
    }
}
