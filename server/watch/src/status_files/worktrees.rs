//! The watched worktrees, and the directories that lie in them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use hub_core::sync;
use hub_engine::places;
use hub_protocol::git;
use tokio::sync::{Notify, watch};

use super::{BELOW_WORKTREE, SCAN_INTERVAL};
use crate::dir_watcher::DirWatcher;

/// Limit of known directories, because each may have a thread.
const MAX_DIRECTORIES: usize = 1_000;

/// Finds the top of the worktree that contains a directory.
pub(super) type FindWorktree = Box<dyn Fn(&Path) -> Option<PathBuf> + Send + Sync>;

/// A watched directory tree: a worktree, or the state directory.
#[derive(Debug)]
pub(super) struct WatchedTree {
    /// Notified of changes in the tree, and of scan requests.
    pub(super) changed: Arc<Notify>,
    /// Number of scans that were requested.
    requested: AtomicU64,
    /// Number of the last request that a scan has answered.
    scanned: AtomicU64,
}

impl WatchedTree {
    /// The tree at `root`, whose changes are reported from now on, or only those in directories with the name `below`.
    pub(super) fn new(root: &Path, below: Option<&'static str>, watcher: &DirWatcher) -> Self {
        let changed = Arc::new(Notify::new());
        watcher.subscribe(root.to_owned(), below, &changed);
        Self {
            changed,
            requested: AtomicU64::new(0),
            scanned: AtomicU64::new(0),
        }
    }

    /// Requests a scan; returns the request's number.
    pub(super) fn request_scan(&self) -> u64 {
        let number = self.requested.fetch_add(1, Ordering::AcqRel) + 1;
        self.changed.notify_one();
        number
    }

    /// The number of the last request.
    pub(super) fn requested(&self) -> u64 {
        self.requested.load(Ordering::Acquire)
    }

    /// Whether a scan has answered request number `request`.
    pub(super) fn has_scanned(&self, request: u64) -> bool {
        self.scanned.load(Ordering::Acquire) >= request
    }
}

/// The worktree of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// Still being determined by its thread.
    Unresolved,
    /// In no worktree at this time; one may be created later.
    Outside(Instant),
    /// In the worktree with this top.
    Worktree(PathBuf),
}

#[derive(Default)]
struct WorktreeTable {
    locations: HashMap<PathBuf, Location>,
    trees: HashMap<PathBuf, Arc<WatchedTree>>,
    /// Whether the limit was reached and has been logged.
    full: bool,
}

/// All watched worktrees.
pub(super) struct Worktrees {
    find: FindWorktree,
    table: Mutex<WorktreeTable>,
    /// Changes with every scan and every directory that is resolved.
    changes: watch::Sender<u64>,
}

impl Worktrees {
    pub(super) fn new(find: FindWorktree) -> Self {
        Self {
            find,
            table: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Forgets directories that are not among `dirs`, except those that are still being resolved.
    pub(super) fn retain(&self, dirs: &[PathBuf]) {
        let dirs: HashSet<&PathBuf> = dirs.iter().collect();
        let mut table = self.table();
        table
            .locations
            .retain(|dir, location| *location == Location::Unresolved || dirs.contains(dir));
        table.full &= table.locations.len() >= MAX_DIRECTORIES;
    }

    /// Whether `dir` has to be resolved. If so it is marked as unresolved, and the caller must resolve it.
    pub(super) fn claim(&self, dir: &Path) -> bool {
        let mut table = self.table();
        match table.locations.get(dir) {
            Some(Location::Outside(since)) if since.elapsed() >= SCAN_INTERVAL => {}
            Some(_) => return false,
            None if table.locations.len() < MAX_DIRECTORIES => {}
            None => {
                if !std::mem::replace(&mut table.full, true) {
                    tracing::warn!(?dir, "too many worktrees: its status files are not watched");
                }
                return false;
            }
        }
        table.locations.insert(dir.to_owned(), Location::Unresolved);
        true
    }

    /// Records the location of `dir`.
    pub(super) fn set_location(&self, dir: &Path, location: Location) {
        self.table().locations.insert(dir.to_owned(), location);
    }

    /// Resolves the worktree of `dir`, which may take long on a slow file system; `None` if it is already watched, or
    /// there is none.
    pub(super) fn resolve(
        &self,
        dir: &Path,
        watcher: &DirWatcher,
    ) -> Option<(PathBuf, Arc<WatchedTree>)> {
        let top = (self.find)(dir);
        let mut table = self.table();
        let location = top
            .clone()
            .map_or_else(|| Location::Outside(Instant::now()), Location::Worktree);
        table.locations.insert(dir.to_owned(), location);
        let new = top.and_then(|top| {
            if let Some(tree) = table.trees.get(&top) {
                // Scan again, because the session's file did not count while its location was unresolved.
                tree.changed.notify_one();
                return None;
            }
            let tree = Arc::new(WatchedTree::new(&top, Some(BELOW_WORKTREE[0]), watcher));
            table.trees.insert(top.clone(), Arc::clone(&tree));
            Some((top, tree))
        });
        drop(table);
        self.changes.send_modify(|changes| *changes += 1);
        new
    }

    /// The known location of a directory, or [`Location::Unresolved`].
    pub(super) fn location(&self, dir: &Path) -> Location {
        let table = self.table();
        table
            .locations
            .get(dir)
            .cloned()
            .unwrap_or(Location::Unresolved)
    }

    /// Forgets a worktree that is gone. It is resolved again when a session works in it again.
    pub(super) fn forget(&self, top: &Path) {
        let mut table = self.table();
        table.trees.remove(top);
        table
            .locations
            .retain(|_, location| !matches!(location, Location::Worktree(of) if of == top));
        drop(table);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// The watched worktrees.
    pub(super) fn all(&self) -> Vec<Arc<WatchedTree>> {
        self.table().trees.values().cloned().collect()
    }

    /// Records that a scan of `tree` has answered all requests up to number `request`.
    pub(super) fn set_scanned(&self, tree: &WatchedTree, request: u64) {
        tree.scanned.store(request, Ordering::Release);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Completes once `is_done` returns true; calls it after every scan.
    pub(super) async fn wait_until(&self, mut is_done: impl FnMut() -> bool) {
        let mut changes = self.changes.subscribe();
        while !is_done() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Whether the worktree of `dir` has been scanned since the first call, or never will be. `request` keeps the number
    /// of the scan request, which can be made only once the worktree is known.
    pub(super) fn is_scanned(&self, dir: &Path, request: &mut Option<u64>) -> bool {
        let table = self.table();
        let top = match table.locations.get(dir) {
            Some(Location::Unresolved) => return false,
            Some(Location::Worktree(top)) => top,
            Some(Location::Outside(_)) | None => return true,
        };
        let Some(tree) = table.trees.get(top) else {
            return true;
        };
        tree.has_scanned(*request.get_or_insert_with(|| tree.request_scan()))
    }

    fn table(&self) -> MutexGuard<'_, WorktreeTable> {
        sync::lock(&self.table)
    }
}

/// The real path of the top of the worktree that contains `dir`.
pub(super) fn worktree_of(dir: &Path) -> Option<PathBuf> {
    let answers = places::answers(dir, Instant::now() + git::PATIENCE).ok()?;
    answers.repository.as_ref()?.worktree.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolved_directories_are_limited_and_one_outside_of_repositories_is_resolved_again() {
        let known = Worktrees::new(Box::new(|_| None));
        let watcher = DirWatcher::new();
        let all: Vec<PathBuf> = (0..1_000).map(|n| format!("/{n}").into()).collect();
        for dir in &all {
            assert!(known.claim(dir));
            assert!(known.resolve(dir, &watcher).is_none());
            assert!(!known.claim(dir), "until a while is over");
        }
        let new = Path::new("/new");
        assert!(!known.claim(new));
        known.retain(&all[1..]);
        assert!(known.claim(new));
        known.retain(&[]);
        assert!(!known.claim(new), "it is being looked up");
        let long_ago = Instant::now().checked_sub(SCAN_INTERVAL).unwrap();
        known.set_location(new, Location::Outside(long_ago));
        assert!(known.claim(new));
    }
}
