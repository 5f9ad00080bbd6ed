//! File system watches of every bridge: one watcher for all directories, because a user may have few.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, TryLockError};

use hub_core::sync;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

type Subscriptions = Arc<Mutex<Vec<WatchedRoot>>>;

/// A watched tree.
struct WatchedRoot {
    root: PathBuf,
    /// The directory name below which changes count; `None` if all count.
    below: Option<&'static str>,
    /// The signal for changes.
    changed: Arc<Notify>,
}

/// Watches directories, and signals changes to the tree that contains them.
pub(super) struct DirWatcher {
    /// `None` if the system has no watches.
    watcher: Mutex<Option<RecommendedWatcher>>,
    subscriptions: Subscriptions,
}

/// Why a directory is not watched.
pub(super) enum WatchError {
    /// Another thread is using the watcher; try again.
    Busy,
    /// The system refused the watch.
    Refused(notify::Error),
}

impl DirWatcher {
    pub(super) fn new() -> Self {
        let subscriptions = Subscriptions::default();
        Self {
            watcher: Mutex::new(start(Arc::clone(&subscriptions))),
            subscriptions,
        }
    }

    /// Notifies `changed` of changes below `root`: of all, or of those in directories with the name `below`.
    pub(super) fn subscribe(
        &self,
        root: PathBuf,
        below: Option<&'static str>,
        changed: &Arc<Notify>,
    ) {
        let changed = Arc::clone(changed);
        sync::lock(&self.subscriptions).push(WatchedRoot {
            root,
            below,
            changed,
        });
    }

    pub(super) fn unsubscribe(&self, root: &Path) {
        sync::lock(&self.subscriptions).retain(|it| it.root != root);
    }

    /// Watches the directory `path` instead of `previous`. Never blocks on the watcher, because a hung file system may
    /// block another thread in here.
    pub(super) fn watch(
        &self,
        path: Option<&Path>,
        previous: Option<&Path>,
    ) -> Result<(), WatchError> {
        let mut watcher = match self.watcher.try_lock() {
            Ok(watcher) => watcher,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(WatchError::Busy),
        };
        let Some(watcher) = watcher.as_mut() else {
            return Ok(());
        };
        if let Some(previous) = previous {
            // Fails if the directory is gone: its watch is gone with it.
            let _ = watcher.unwatch(previous);
        }
        let Some(path) = path else { return Ok(()) };
        watcher
            .watch(path, RecursiveMode::NonRecursive)
            .map_err(WatchError::Refused)
    }
}

/// Starts a watcher that notifies the subscriptions.
fn start(subscriptions: Subscriptions) -> Option<RecommendedWatcher> {
    let notify = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        // Ignore reads, because the hub's own scans cause them.
        let is_read = event.kind.is_access();
        for it in sync::lock(&subscriptions).iter() {
            let counts = |path: &PathBuf| {
                let named = |name| path.iter().any(|part| part == name);
                path.starts_with(&it.root) && it.below.is_none_or(named)
            };
            if event.need_rescan() || !is_read && event.paths.iter().any(counts) {
                it.changed.notify_one();
            }
        }
    };
    let watcher = RecommendedWatcher::new(notify, notify::Config::default());
    let warn = |error: &_| {
        tracing::warn!(%error, "files are read at intervals only");
    };
    watcher.inspect_err(warn).ok()
}
