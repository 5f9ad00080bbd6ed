//! What a hub starts from: a journal, the fold of what is in it, and who keeps both small.

use std::path::Path;
use std::sync::Arc;

use hub_protocol::{Epoch, Timestamp};

use crate::archive::{self, Archive, RecoverError, Recovered, Retention, SnapshotsDue};
use crate::config::Config;
use crate::hub::Hub;
use crate::journal::disk::DiskJournal;
use crate::journal::memory::MemoryJournal;
use crate::journal::sled::{Files, Options};
use crate::journal::snapshot::Snapshots;
use crate::journal::{Journal, JournalError};
use crate::state::State;
use crate::writer::Reload;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// An open journal and its fold.
pub struct Storage {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The fold of everything in it.
    pub state: State,
    /// Folds it again.
    pub reload: Reload,
    /// What the archive begins with, where there is a disk.
    pub archive: Option<ArchiveParts>,
}

/// What the archive of a hub on disk begins with.
pub struct ArchiveParts {
    snapshots: Snapshots,
    recovered: Recovered,
    due: SnapshotsDue,
    retention: Retention,
}

/// A hub that forgets everything at its end.
pub fn memory() -> anyhow::Result<Storage> {
    let mut random = [0; 8];
    getrandom::fill(&mut random)?;
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new(Epoch(u64::from_le_bytes(random))));
    let again = Arc::clone(&journal);
    Ok(Storage {
        journal,
        state: State::default(),
        reload: Box::new(move || fold(&*again)),
        archive: None,
    })
}

/// A hub that keeps everything in its state directory.
pub fn sled(dir: &Path, config: &Config) -> anyhow::Result<Storage> {
    let journal: Arc<dyn Journal> = Arc::new(DiskJournal::open(dir, Options::default())?);
    let snapshots = move |journal: &dyn Journal, files: &Files| {
        Snapshots::new(&files.snapshots(), journal.epoch())
    };
    let files = Files::new(dir);
    let recovered =
        archive::recover(&*journal, &snapshots(&*journal, &files)).map_err(JournalError::from)?;
    let parts = ArchiveParts {
        snapshots: snapshots(&*journal, &files),
        recovered: recovered.clone(),
        due: SnapshotsDue {
            records: config.snapshot.every_records,
            bytes: config.snapshot.every_bytes,
        },
        retention: Retention {
            max_age_ms: i64::from(config.retention.days.get()) * DAY_MS,
            max_bytes: config.retention.max_bytes,
            ..Retention::default()
        },
    };
    let again = Arc::clone(&journal);
    let reload = move || Ok(archive::recover(&*again, &snapshots(&*again, &files))?.state);
    Ok(Storage {
        journal,
        state: recovered.state,
        reload: Box::new(reload),
        archive: Some(parts),
    })
}

impl ArchiveParts {
    /// Starts the archive of a hub that runs.
    pub fn spawn(self, hub: Hub) -> std::io::Result<Archive> {
        Archive::spawn(archive::Parts {
            journal: Arc::clone(hub.log().journal()),
            snapshots: self.snapshots,
            recovered: self.recovered,
            due: self.due,
            retention: self.retention,
            clock: Box::new(Timestamp::now),
            submit: Box::new(move |command| hub.submit_blocking(command).is_ok()),
        })
    }
}

/// The fold of everything in a journal that was never trimmed.
pub fn fold(journal: &dyn Journal) -> Result<State, JournalError> {
    let replayed: Result<Recovered, RecoverError> = archive::replay(journal);
    Ok(replayed?.state)
}
