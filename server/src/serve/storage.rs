//! Opens the storage of a hub: its journal, the fold of its records, and the parts of the archive.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "jetstream")]
use hub_cluster::journal::{JetStreamJournal, SharedLog};
use hub_config::Config;
use hub_config::state_dir::CLUSTER_MARKER;
use hub_core::fold::State;
use hub_core::record::{ClockMoved, Record};
use hub_engine::writer::Reload;
use hub_log::archive::{
    self, ArchiveInputs, RecoverError, Recovered, RetentionPolicy, SnapshotPolicy,
};
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::memory::MemoryJournal;
use hub_log::journal::sled::{Files, JournalOrigin, Options};
use hub_log::journal::snapshot::Snapshots;
use hub_log::journal::{Entry, Journal, JournalError};
use hub_protocol::{Epoch, Timestamp};

const DAY_MS: i64 = 24 * 3600 * 1000;
/// A larger difference between the clock and the newest record counts as a change of the clock, because a hub is rarely
/// off for that long.
const MAX_OFF_MS: i64 = 30 * DAY_MS;
/// The number of records that are searched for the newest time, and the most bytes read for them.
const RECENT: u64 = 64;
const RECENT_BYTES: usize = 4 << 20;

/// An open journal and the fold of its records.
pub struct Storage {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The fold of all records in the journal.
    pub recovered: Recovered,
    /// Computes the fold again from the journal.
    pub reload: Reload,
    /// The parts of the archive; `None` for a hub in memory.
    pub archive: Option<ArchiveInputs>,
}

/// Opens the storage of a hub in memory, which is lost at exit.
pub fn memory() -> anyhow::Result<Storage> {
    let mut random = [0; 8];
    getrandom::fill(&mut random)?;
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new(Epoch(u64::from_le_bytes(random))));
    let again = Arc::clone(&journal);
    Ok(Storage {
        journal,
        recovered: Recovered::default(),
        reload: Box::new(move || fold(&*again)),
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
    record_clock_jump(&*journal, Timestamp::now())?;
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
    let snapshots = move |journal: &dyn Journal, files: &Files| {
        Snapshots::new(&files.snapshots(), journal.epoch())
    };
    let files = Files::new(dir);
    let recovered =
        archive::recover(&*journal, &snapshots(&*journal, &files)).map_err(JournalError::from)?;
    let parts = ArchiveInputs {
        snapshots: snapshots(&*journal, &files),
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
    let again = Arc::clone(&journal);
    let reload = move || Ok(archive::recover(&*again, &snapshots(&*again, &files))?.state);
    Ok(Storage {
        journal,
        recovered,
        reload: Box::new(reload),
        archive: Some(parts),
    })
}

/// Records a change of the clock if it is more than a month away from the newest record: either the hub was off that
/// long, or the clock was set. Deadlines then move with the clock, as in a running hub, and retention by age pauses
/// for a day. So a wrong clock neither expires nor drops anything.
fn record_clock_jump(journal: &dyn Journal, now: Timestamp) -> Result<(), JournalError> {
    let head = journal.head();
    let from = head.saturating_sub(RECENT).max(journal.earliest());
    let newest = if head < from {
        None
    } else {
        let entries = journal.read(from, RECENT_BYTES)?;
        let records = entries
            .iter()
            .filter_map(|entry| Record::decode(entry.kind, &entry.payload).ok());
        records.filter_map(|record| record.at()).max()
    };
    let Some(newest) = newest else { return Ok(()) };
    let delta_ms = now.as_millis() - newest.as_millis();
    if delta_ms.abs() <= MAX_OFF_MS {
        return Ok(());
    }
    tracing::warn!(
        days = delta_ms / DAY_MS,
        "the clock is far from the newest record: pending deadlines move with it, and nothing is dropped for its age today"
    );
    let moved = Record::ClockMoved(ClockMoved { delta_ms, at: now });
    let (kind, payload) = moved.encode();
    let seq = head + 1;
    match journal.append(&[Entry { seq, kind, payload }]) {
        Err(JournalError::Full) => Ok(()),
        appended => appended,
    }
}

/// Folds all records of a journal that was never trimmed.
pub fn fold(journal: &dyn Journal) -> Result<State, JournalError> {
    let replayed: Result<Recovered, RecoverError> = archive::replay(journal);
    Ok(replayed?.state)
}

#[cfg(test)]
mod tests {
    use hub_core::testing::seen;
    use hub_log::testing::entry;

    use super::*;

    /// Returns a journal with one record, written `days` ago, and the current time.
    fn journal(days: i64) -> (MemoryJournal, Timestamp) {
        let (journal, now) = (MemoryJournal::new(Epoch(7)), Timestamp::now());
        let record = seen(1, true, now.plus_millis(-days * DAY_MS));
        journal.append(&[entry(1, &record)]).unwrap();
        (journal, now)
    }

    #[test]
    fn a_clock_40_days_off_at_start_moves_deadlines_and_pauses_retention_by_age() {
        for days in [40, -40] {
            let (journal, now) = journal(days);
            record_clock_jump(&journal, now).unwrap();
            let entries = journal.read(2, 1).unwrap();
            let moved = Record::decode(entries[0].kind, &entries[0].payload).unwrap();
            let delta_ms = days * DAY_MS;
            assert_eq!(moved, Record::ClockMoved(ClockMoved { delta_ms, at: now }));
            let paused = fold(&journal).unwrap().retention.paused_until();
            assert!(paused.is_some_and(|until| until > now));
        }
    }

    #[test]
    fn a_hub_that_was_off_for_some_days_keeps_its_deadlines() {
        let (journal, now) = journal(20);
        record_clock_jump(&journal, now).unwrap();
        assert_eq!(journal.head(), 1);
    }
}
