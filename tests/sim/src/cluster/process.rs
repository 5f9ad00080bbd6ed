//! One hub of the cluster as a process: the real hub with its writer, journal, lease, follower and front.

use std::future;
use std::sync::Arc;

use axum::Router;
use hub_cluster::journal::{JetStreamJournal, SharedLog};
use hub_cluster::{CallKeys, Cluster, ClusterConnection, NewestSnapshot};
use hub_config::ClusterSettings;
use hub_core::rule::RuleSet;
use hub_core::time::Clock;
use hub_core::waiters::WakeLimits;
use hub_core::waiters::lease_token::LeaseKey;
use hub_core::wake_files::WakeFiles;
use hub_engine::{Hub, HubParts, Rules, clock};
use hub_log::archive::{self, ArchiveInputs, ArchiveWorker, RetentionPolicy, SnapshotPolicy};
use hub_log::journal::Journal;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::Options;
use hub_log::journal::snapshot::Snapshots;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::clients;
use super::clock::SimClock;
use super::join::{DiskCopy, Join};
use super::nats::{CLUSTER, Server, SimNats};
use super::pulse::{Life, Pulse};
use super::readers;
use super::writers::Writers;
use crate::disk::SimDisk;
use crate::rng::Rng;
use crate::store::{EPOCH, ModelStore, Stored, files};

/// The bytes of a segment of the copy.
const SEGMENT_BYTES: u64 = 16 << 10;
/// The age of a record above which it is dropped: of none in a world.
const MAX_AGE_MS: i64 = 30 * 24 * 3_600_000;
/// When a snapshot is due.
const SNAPSHOTS: SnapshotPolicy = SnapshotPolicy {
    records: 30,
    bytes: 16 << 20,
};

/// A machine with one hub.
pub(crate) struct Machine {
    /// The number and the name of the hub.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(super) disk: SimDisk,
    pub(super) stored: Stored,
    /// Whether a fault of the disk since the last start may explain an error.
    pub(super) is_troubled: bool,
    /// The bytes that its copy of the log may have.
    pub(super) max_bytes: u64,
    /// Whether one of the two copies of a record was damaged.
    pub(super) is_damaged: bool,
    /// Its clocks.
    pub(crate) clock: Arc<SimClock>,
    /// The start that is under way.
    pub(super) join: Option<Join>,
    /// The running hub.
    pub(crate) process: Option<Process>,
    /// When the hub starts again.
    pub(crate) starts: Instant,
}

/// A running hub.
pub(crate) struct Process {
    /// The number of the process among all of the world.
    pub(crate) number: u64,
    pub(crate) pulse: Pulse,
    pub(crate) hub: Hub,
    pub(crate) cluster: Cluster<SimNats>,
    pub(crate) journal: Arc<JetStreamJournal<SimNats>>,
    /// Its snapshots and its retention.
    pub(super) archive: ArchiveWorker,
    /// What answers its clients.
    pub(crate) front: Router,
    shutdown: CancellationToken,
    work: JoinHandle<()>,
}

impl Machine {
    /// A machine without any state.
    pub(crate) fn new(index: usize, rng: &mut Rng, now: Instant) -> Self {
        Self {
            index,
            name: ["a", "b", "c"][index].into(),
            disk: SimDisk::new(rng.fork()),
            stored: Stored::default(),
            is_troubled: false,
            max_bytes: u64::MAX,
            is_damaged: false,
            clock: Arc::new(SimClock::random(rng, now)),
            join: None,
            process: None,
            starts: now,
        }
    }

    /// Starts the hub, as the process with this number.
    pub(crate) fn start(
        &mut self,
        number: u64,
        writers: &Arc<Writers>,
        server: &Server,
    ) -> Result<(), String> {
        let pulse = Pulse::new();
        let nats = SimNats::new(server, self.index, pulse.clone());
        let run = format!("run{number}");
        let shared = Arc::new(SharedLog::new(nats.clone(), CLUSTER, &self.name, &run));
        let disk = self.disk.for_new_process();
        let files = files(&disk);
        let store = ModelStore::open(&files, Arc::clone(&disk), self.stored.clone(), None);
        let store = store.map_err(|error| error.to_string())?;
        let copy = DiskJournal::over(Arc::new(store), &files, options());
        let copy = copy.map_err(|error| error.to_string())?;
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as _;
        let waits = writers.waits(pulse.clone());
        let journal = JetStreamJournal::over(copy, Arc::clone(&shared), waits, Arc::clone(&clock));
        let journal = Arc::new(journal);
        let snapshots = Snapshots::on(Arc::clone(&files.disk), &files.snapshots(), EPOCH);
        let recovered = archive::recover(&*journal, &snapshots);
        let recovered = recovered.map_err(|error| error.to_string())?;
        let archive_clock = Arc::clone(&clock);
        let inputs = ArchiveInputs {
            snapshots: snapshots.clone(),
            last_snapshot: recovered.snapshot,
            due: SNAPSHOTS,
            retention: RetentionPolicy {
                max_age_ms: MAX_AGE_MS,
                max_bytes: self.max_bytes,
            },
            clock: Box::new(move || archive_clock.wall()),
        };
        let shutdown = CancellationToken::new();
        let parts = HubParts {
            journal: Arc::clone(&journal) as Arc<dyn Journal>,
            recovered,
            leases: LeaseKey::new(b"secret"),
            offered: 0,
            limits: WakeLimits {
                per_sender_per_minute: 1_000,
                per_hour: 100_000,
            },
            rules: Rules::default(),
            rule_set: Arc::new(RuleSet::default()),
            wake_files: WakeFiles::new("/dev/null/wake".into()),
            queue: 1_000,
            streams: 1_000,
            shutdown: shutdown.clone(),
        };
        let (hub, writer, asks) = Hub::assemble(parts, Instant::now().into_std());
        let own = hub.clone();
        let submit = move |command| {
            let own = own.clone();
            tokio::spawn(async move { own.submit(command).await });
            true
        };
        let archive = ArchiveWorker::new(inputs, Arc::clone(hub.view()), Box::new(submit));
        let life = (pulse.clone(), Arc::clone(&self.clock));
        writers.hire(number, (writer, asks), life);
        let connection = ClusterConnection {
            nats,
            settings: settings(&self.name),
            node: self.name.clone(),
            run,
            machine: Some(format!("machine {}", self.index)),
            keys: CallKeys::default(),
            shared,
        };
        let newest: NewestSnapshot =
            Box::new(move || Box::pin(future::ready(hub_cluster::newest(&snapshots))));
        let own = (Arc::clone(&journal), newest);
        let cluster = Cluster::over(connection, own, hub.clone(), Arc::clone(&clock));
        let routes =
            cluster.with_routes(clients::routes(&hub, &clock).merge(readers::routes(&hub)));
        let front = cluster.front(routes.clone());
        let work = tokio::spawn(work(
            pulse.clone(),
            cluster.clone(),
            (hub.clone(), routes),
            shutdown.clone(),
        ));
        let faults = self.disk.faults();
        self.is_troubled = faults.full || faults.failing.is_some();
        self.process = Some(Process {
            number,
            pulse,
            hub,
            cluster,
            journal,
            archive,
            front,
            shutdown,
            work,
        });
        Ok(())
    }

    /// Whether a fault of its disk may explain an error.
    pub(crate) fn has_trouble(&self) -> bool {
        self.is_troubled || self.disk.is_off()
    }

    /// Puts another disk in the place of its own. No hub runs.
    pub(crate) fn replace(&mut self, (disk, stored): DiskCopy) {
        (self.disk, self.stored) = (disk, stored);
        self.is_damaged = false;
    }

    /// Ends the process without a word, and cuts the power or not.
    pub(crate) fn kill(&mut self, writers: &Writers, power: bool, rng: &mut Rng) {
        if power {
            self.disk.lose_power();
            self.clock = Arc::new(self.clock.rebooted(rng));
        } else {
            self.disk.kill();
        }
        if let Some(join) = self.join.take() {
            join.kill();
        }
        if let Some(process) = self.process.take() {
            process.pulse.set(Life::Ended);
            process.work.abort();
            writers.dismiss(process.number);
        }
    }
}

impl Process {
    /// Begins to stop the hub as a signal does.
    pub(crate) fn stop(&self) {
        self.shutdown.cancel();
    }

    /// Whether a hub that stops has ended its work.
    pub(crate) fn has_stopped(&self) -> bool {
        self.shutdown.is_cancelled() && self.work.is_finished()
    }

    /// Whether its work has ended although nothing stopped it.
    pub(crate) fn has_crashed(&self) -> bool {
        !self.shutdown.is_cancelled() && self.work.is_finished()
    }

    /// Whether clients reach it.
    pub(crate) fn serves(&self) -> bool {
        !self.shutdown.is_cancelled() && self.pulse.life() != Life::Ended
    }
}

async fn work(
    pulse: Pulse,
    cluster: Cluster<SimNats>,
    (hub, routes): (Hub, Router),
    shutdown: CancellationToken,
) {
    let ticks = clock::run(hub, shutdown.clone());
    let part = cluster.run(routes, &shutdown);
    let both = Box::pin(async {
        tokio::join!(ticks, part);
    });
    pulse.gated(both).await;
}

/// How each copy is opened.
pub(super) fn options() -> Options {
    Options {
        segment_bytes: SEGMENT_BYTES,
        ..Options::default()
    }
}

fn settings(node: &str) -> ClusterSettings {
    ClusterSettings {
        name: CLUSTER.into(),
        node: node.into(),
        // Several, so that a hub that is cut off goes to another server.
        urls: vec!["nats://one".into(), "nats://two".into()],
        creds: "".into(),
        ca: "".into(),
        replicas: std::num::NonZeroU32::MIN,
        lead: true,
        nodes: std::collections::BTreeMap::new(),
    }
}
