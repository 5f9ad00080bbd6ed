//! File system watches, and the trees that they notify.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::{BELOW_WORKTREE, LOOK};

type Told = Arc<Mutex<Vec<(PathBuf, Arc<Notify>)>>>;

/// One watcher for all directories, because a user may have few.
pub(super) struct Watches {
    /// `None` if the system has no watches.
    watcher: Mutex<Option<RecommendedWatcher>>,
    told: Told,
}

/// Why a directory is not watched.
pub(super) enum Unwatched {
    /// Another thread is using the watcher; try again.
    Busy,
    /// The system refused the watch.
    Refused(notify::Error),
}

impl Watches {
    pub(super) fn new() -> Self {
        let told = Told::default();
        Self {
            watcher: Mutex::new(watcher(Arc::clone(&told))),
            told,
        }
    }

    /// Returns the signal that is notified of changes below `root`.
    pub(super) fn tell(&self, root: PathBuf) -> Arc<Notify> {
        let changed = Arc::new(Notify::new());
        locked(&self.told).push((root, Arc::clone(&changed)));
        changed
    }

    pub(super) fn forget(&self, root: &Path) {
        locked(&self.told).retain(|(known, _)| known != root);
    }

    /// Watches the directory `path` instead of `before`. Never blocks on the watcher, because a hung file system may
    /// block another thread in here.
    pub(super) fn arm(&self, path: Option<&Path>, before: Option<&Path>) -> Result<(), Unwatched> {
        let mut watcher = match self.watcher.try_lock() {
            Ok(watcher) => watcher,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Unwatched::Busy),
        };
        let Some(watcher) = watcher.as_mut() else {
            return Ok(());
        };
        if let Some(before) = before {
            // Fails if the directory is gone: its watch is gone with it.
            let _ = watcher.unwatch(before);
        }
        let Some(path) = path else { return Ok(()) };
        watcher
            .watch(path, RecursiveMode::NonRecursive)
            .map_err(Unwatched::Refused)
    }
}

/// A watcher that notifies the trees in `told` of every change that may be in a status file.
fn watcher(told: Told) -> Option<RecommendedWatcher> {
    let tell = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        // Ignore reads, because the hub's own scans cause them.
        let quiet = event.kind.is_access();
        for (root, changed) in locked(&told).iter() {
            // Ignore changes at the top of a worktree outside of `.hub`.
            let is_below = |path: &PathBuf| {
                let ours = || path.iter().any(|part| part == BELOW_WORKTREE[0]);
                path.starts_with(root) && (root.ends_with("status") || ours())
            };
            if event.need_rescan() || !quiet && event.paths.iter().any(is_below) {
                changed.notify_one();
            }
        }
    };
    RecommendedWatcher::new(tell, notify::Config::default())
        .inspect_err(
            |error| tracing::warn!(%error, "status files are looked at every {LOOK:?} only"),
        )
        .ok()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
