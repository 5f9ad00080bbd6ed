//! The start of a hub, before its process works: where the stream does not continue its copy of the log, it begins with the base
//! on a new disk. On a real disk the new files replace the old ones as a whole too.

use std::sync::{Arc, Mutex};

use hub_cluster::journal::base::{self, BaseError, StagedCopy};
use hub_cluster::journal::{SharedLog, SharedLogError};
use hub_core::disk::Disk as _;
use hub_core::sync;
use hub_log::journal::Journal as _;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::JournalOrigin;
use hub_log::journal::snapshot::Snapshots;
use hub_protocol::{Epoch, Seq};
use tokio::task::JoinHandle;

use super::nats::{CLUSTER, Server, SimNats};
use super::process::{Machine, options};
use super::pulse::{Life, Pulse};
use crate::disk::{ProcessDisk, SimDisk};
use crate::rng::Rng;
use crate::store::{EPOCH, ModelStore, Stored, files};

/// A disk, and the store on it.
pub(super) type DiskCopy = (SimDisk, Stored);
/// The copy with which a hub starts, if not with that which it has.
pub(super) type Joined = Result<Option<DiskCopy>, String>;

/// A start that has not got its copy of the log yet.
pub(crate) struct Join {
    pulse: Pulse,
    task: JoinHandle<()>,
    done: Arc<Mutex<Option<Joined>>>,
}

impl Join {
    /// Begins to start `machine`, as the process with this number.
    pub(super) fn begin(machine: &Machine, number: u64, server: &Server, rng: Rng) -> Self {
        let pulse = Pulse::new();
        let nats = SimNats::new(server, machine.index, pulse.clone());
        let shared = SharedLog::new(nats, CLUSTER, &machine.name, &format!("join{number}"));
        let old = (machine.disk.clone(), machine.stored.clone());
        let (server, hub) = (server.clone(), machine.index);
        let done = Arc::new(Mutex::new(None));
        let own = Arc::clone(&done);
        let task = tokio::spawn(async move {
            let joined = join(&shared, &old, rng, || server.is_open(hub)).await;
            *sync::lock(&own) = Some(joined.map_err(|error| error.to_string()));
        });
        Self { pulse, task, done }
    }

    /// Returns the outcome, once.
    pub(super) fn done(&self) -> Option<Joined> {
        sync::lock(&self.done).take()
    }

    /// Ends it without a word.
    pub(super) fn kill(&self) {
        self.pulse.set(Life::Ended);
        self.task.abort();
    }
}

async fn join(
    shared: &SharedLog<SimNats>,
    old: &DiskCopy,
    rng: Rng,
    is_open: impl Fn() -> bool,
) -> Result<Option<DiskCopy>, BaseError> {
    let (rng, made) = (Mutex::new(rng), Mutex::new(None));
    let attempt = || async {
        if begins_anew(shared, old).await? {
            let staged = NewDisk::new(&made, sync::lock(&rng).fork());
            shared.copy(EPOCH, staged).await?;
        }
        Ok(())
    };
    base::retry(attempt, is_open).await?;
    let made = sync::lock(&made).take();
    Ok(made)
}

async fn begins_anew(
    shared: &SharedLog<SimNats>,
    (disk, stored): &DiskCopy,
) -> Result<bool, BaseError> {
    if !shared.lacks_beginning(EPOCH).await? {
        return Ok(false);
    }
    let disk = disk.for_new_process();
    let files = files(&disk);
    if !disk.is_there(&files.epoch())? {
        return Ok(true);
    }
    let store = ModelStore::open(&files, disk, stored.clone(), None)?;
    let journal = DiskJournal::over(Arc::new(store), &files, options())?;
    let place = shared.place_of(&journal).await;
    journal.close()?;
    Ok(matches!(place, Err(SharedLogError::TooOld(_))))
}

/// The disk of the new copy.
struct NewDisk<'a> {
    copy: DiskCopy,
    disk: Arc<ProcessDisk>,
    made: &'a Mutex<Option<DiskCopy>>,
}

impl<'a> NewDisk<'a> {
    fn new(made: &'a Mutex<Option<DiskCopy>>, rng: Rng) -> Self {
        let new = SimDisk::new(rng);
        Self {
            disk: new.for_new_process(),
            copy: (new, Stored::default()),
            made,
        }
    }
}

impl StagedCopy for NewDisk<'_> {
    fn begin(&self, origin: JournalOrigin) -> Result<DiskJournal, BaseError> {
        let (files, stored) = (files(&self.disk), self.copy.1.clone());
        let store = ModelStore::open(&files, Arc::clone(&self.disk), stored, Some(origin))?;
        Ok(DiskJournal::over(Arc::new(store), &files, options())?)
    }

    fn install(self, epoch: Epoch, seq: Seq, fold: &[u8]) -> Result<(), BaseError> {
        let files = files(&self.disk);
        Snapshots::on(files.disk.clone(), &files.snapshots(), epoch).save(seq, fold)?;
        *sync::lock(self.made) = Some(self.copy);
        Ok(())
    }
}
