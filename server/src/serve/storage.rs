//! Opens the storage of a hub: its journal, the fold of its records, and the parts of the archive.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "jetstream")]
use hub_cluster::journal::{JetStreamJournal, SharedLog};
use hub_config::Config;
use hub_config::state_dir::CLUSTER_MARKER;
use hub_log::archive::{self, ArchiveInputs, Recovered, RetentionPolicy, SnapshotPolicy};
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::memory::MemoryJournal;
use hub_log::journal::sled::{Files, JournalOrigin, Options};
use hub_log::journal::snapshot::Snapshots;
use hub_log::journal::{Journal, JournalError};
use hub_protocol::{Epoch, Timestamp};

const DAY_MS: i64 = 24 * 3600 * 1000;

/// An open journal and the fold of its records.
pub struct Storage {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The fold of all records in the journal.
    pub recovered: Recovered,
    /// The parts of the archive; `None` for a hub in memory.
    pub archive: Option<ArchiveInputs>,
}

/// Opens the storage of a hub in memory, which is lost at exit.
pub fn memory() -> anyhow::Result<Storage> {
    let mut random = [0; 8];
    getrandom::fill(&mut random)?;
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new(Epoch(u64::from_le_bytes(random))));
    Ok(Storage {
        journal,
        recovered: Recovered::default(),
        archive: None,
    })
}

/// Opens the storage of a hub in the state directory `dir`.
pub fn sled(dir: &Path, config: &Config) -> anyhow::Result<Storage> {
    anyhow::ensure!(
        !dir.join(CLUSTER_MARKER).exists(),
        "{} has the copy of a cluster's log: set journal = \"jetstream\", or use another --state-dir",
        dir.display()
    );
    let journal: Arc<dyn Journal> = Arc::new(DiskJournal::open(dir, options(None))?);
    archive::record_clock_jump(&*journal, Timestamp::now())?;
    on_disk(dir, config, journal)
}

/// Opens the copy of a cluster's log in the state directory `dir`; makes an empty one at the first start.
#[cfg(feature = "jetstream")]
pub fn jetstream(
    dir: &Path,
    config: &Config,
    (shared, epoch): (Arc<SharedLog>, Epoch),
    runtime: tokio::runtime::Handle,
) -> anyhow::Result<(Storage, Arc<JetStreamJournal>)> {
    let origin = JournalOrigin {
        epoch,
        first: 1,
        chain: 0,
    };
    let copy = DiskJournal::open(dir, options(Some(origin)))?;
    anyhow::ensure!(
        copy.epoch() == epoch,
        "the log in {} is not the copy of the cluster's log",
        dir.display()
    );
    let journal = Arc::new(JetStreamJournal::new(copy, shared, runtime));
    let storage = on_disk(dir, config, Arc::clone(&journal) as Arc<dyn Journal>)?;
    Ok((storage, journal))
}

fn options(origin: Option<JournalOrigin>) -> Options {
    Options {
        shrink: true,
        origin,
        ..Options::default()
    }
}

/// The storage with this journal, whose snapshots are in `dir`.
fn on_disk(dir: &Path, config: &Config, journal: Arc<dyn Journal>) -> anyhow::Result<Storage> {
    let snapshots = Snapshots::new(&Files::new(dir).snapshots(), journal.epoch());
    let recovered = archive::recover(&*journal, &snapshots).map_err(JournalError::from)?;
    let parts = ArchiveInputs {
        snapshots,
        last_snapshot: recovered.snapshot,
        due: SnapshotPolicy {
            records: config.snapshot.every_records,
            bytes: config.snapshot.every_bytes,
        },
        retention: RetentionPolicy {
            max_age_ms: i64::from(config.retention.days.get()) * DAY_MS,
            max_bytes: config.retention.max_bytes,
        },
        clock: Box::new(Timestamp::now),
    };
    Ok(Storage {
        journal,
        recovered,
        archive: Some(parts),
    })
}
