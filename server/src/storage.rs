//! What a hub starts from: a journal, and the fold of what is in it.

use std::sync::Arc;

use hub_protocol::Epoch;

use crate::config::Config;
use crate::journal::memory::MemoryJournal;
use crate::journal::sled::{Options, SledJournal};
use crate::journal::{Journal, JournalError};
use crate::record::Record;
use crate::state::State;
use crate::state_dir::StateDir;
use crate::writer::Reload;

/// An open journal and its fold.
pub struct Storage {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The fold of everything in it.
    pub state: State,
    /// Folds it again.
    pub reload: Reload,
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
    })
}

/// A hub that keeps everything in its state directory.
pub fn sled(dir: &StateDir, _config: &Config) -> anyhow::Result<Storage> {
    let journal: Arc<dyn Journal> = Arc::new(SledJournal::open(dir.path(), Options::default())?);
    let state = fold(&*journal)?;
    let again = Arc::clone(&journal);
    Ok(Storage {
        journal,
        state,
        reload: Box::new(move || fold(&*again)),
    })
}

/// The fold of everything in a journal that was never trimmed.
pub fn fold(journal: &dyn Journal) -> Result<State, JournalError> {
    let mut state = State::default();
    while state.head() < journal.head() {
        for entry in journal.read(state.head() + 1, 1 << 20)? {
            let record = Record::decode(entry.kind, &entry.payload).map_err(|error| {
                JournalError::Corrupt {
                    at: entry.seq,
                    reason: error.to_string(),
                }
            })?;
            state.apply(entry.seq, &record);
        }
    }
    Ok(state)
}
