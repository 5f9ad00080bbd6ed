//! The watched worktrees, and the directories that lie in them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, watch};

use super::LOOK;
use super::watches::Watches;

/// Limit of known directories, because each may have a thread.
const MAX_DIRECTORIES: usize = 1_000;

/// Finds the top of the worktree that contains a directory.
pub(super) type Find = Box<dyn Fn(&Path) -> Option<PathBuf> + Send + Sync>;

/// A watched directory tree: a worktree, or the state directory.
#[derive(Debug)]
pub(super) struct Tree {
    /// Notified of changes in the tree, and of scan requests.
    pub(super) changed: Arc<Notify>,
    /// Number of scans that were requested.
    asked: AtomicU64,
    /// Number of the last request that a scan has answered.
    answered: AtomicU64,
}

impl Tree {
    /// The tree at `root`, whose changes are reported from now on.
    pub(super) fn new(root: &Path, watches: &Watches) -> Self {
        Self {
            changed: watches.tell(root.to_owned()),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    /// Requests a scan; returns the request's number.
    pub(super) fn ask(&self) -> u64 {
        let look = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        self.changed.notify_one();
        look
    }

    /// The number of the last request.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Acquire)
    }

    /// Whether a scan has answered request number `look`.
    pub(super) fn has_answered(&self, look: u64) -> bool {
        self.answered.load(Ordering::Acquire) >= look
    }
}

/// The worktree of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Still being determined by its thread.
    Unknown,
    /// In no worktree at this time; one may be created later.
    Nowhere(Instant),
    /// In the worktree with this top.
    In(PathBuf),
}

#[derive(Default)]
struct Known {
    places: HashMap<PathBuf, Place>,
    trees: HashMap<PathBuf, Arc<Tree>>,
    /// Whether the limit was reached and has been logged.
    full: bool,
}

/// All watched worktrees.
pub(super) struct Worktrees {
    find: Find,
    known: Mutex<Known>,
    /// Changes with every scan and every directory that is resolved.
    looks: watch::Sender<u64>,
}

impl Worktrees {
    pub(super) fn new(find: Find) -> Self {
        Self {
            find,
            known: Mutex::default(),
            looks: watch::Sender::new(0),
        }
    }

    /// Forgets directories that are not among `dirs`, except those that are still being resolved.
    pub(super) fn keep(&self, dirs: &[PathBuf]) {
        let dirs: HashSet<&PathBuf> = dirs.iter().collect();
        let mut known = self.known();
        known
            .places
            .retain(|dir, place| *place == Place::Unknown || dirs.contains(dir));
        known.full &= known.places.len() >= MAX_DIRECTORIES;
    }

    /// Whether `dir` has to be resolved. If so it is marked as unknown, and the caller must resolve it.
    pub(super) fn is_new(&self, dir: &Path) -> bool {
        let mut known = self.known();
        match known.places.get(dir) {
            Some(Place::Nowhere(since)) if since.elapsed() >= LOOK => {}
            Some(_) => return false,
            None if known.places.len() < MAX_DIRECTORIES => {}
            None => {
                if !std::mem::replace(&mut known.full, true) {
                    tracing::warn!(?dir, "too many worktrees: its status files are not watched");
                }
                return false;
            }
        }
        known.places.insert(dir.to_owned(), Place::Unknown);
        true
    }

    /// Records the place of `dir`.
    pub(super) fn put(&self, dir: &Path, place: Place) {
        self.known().places.insert(dir.to_owned(), place);
    }

    /// Resolves the worktree of `dir`, which may take long on a slow file system; `None` if it is already watched, or
    /// there is none.
    pub(super) fn find(&self, dir: &Path, watches: &Watches) -> Option<(PathBuf, Arc<Tree>)> {
        let top = (self.find)(dir);
        let mut known = self.known();
        let place = top
            .clone()
            .map_or_else(|| Place::Nowhere(Instant::now()), Place::In);
        known.places.insert(dir.to_owned(), place);
        let new = top.and_then(|top| {
            if let Some(tree) = known.trees.get(&top) {
                // Scan again, because the session's file did not count while its place was unknown.
                tree.changed.notify_one();
                return None;
            }
            let tree = Arc::new(Tree::new(&top, watches));
            known.trees.insert(top.clone(), Arc::clone(&tree));
            Some((top, tree))
        });
        drop(known);
        self.looks.send_modify(|looks| *looks += 1);
        new
    }

    /// The known place of a directory, or [`Place::Unknown`].
    pub(super) fn place(&self, dir: &Path) -> Place {
        let known = self.known();
        known.places.get(dir).cloned().unwrap_or(Place::Unknown)
    }

    /// Forgets a worktree that is gone. It is resolved again when a session works in it again.
    pub(super) fn forget(&self, top: &Path) {
        let mut known = self.known();
        known.trees.remove(top);
        known
            .places
            .retain(|_, place| !matches!(place, Place::In(of) if of == top));
        drop(known);
        self.looks.send_modify(|looks| *looks += 1);
    }

    /// The watched worktrees.
    pub(super) fn all(&self) -> Vec<Arc<Tree>> {
        self.known().trees.values().cloned().collect()
    }

    /// Records that a scan of `tree` has answered all requests up to number `asked`.
    pub(super) fn looked(&self, tree: &Tree, asked: u64) {
        tree.answered.store(asked, Ordering::Release);
        self.looks.send_modify(|looks| *looks += 1);
    }

    /// Completes once `is_done` returns true; calls it after every scan.
    pub(super) async fn until(&self, mut is_done: impl FnMut() -> bool) {
        let mut looks = self.looks.subscribe();
        while !is_done() {
            if looks.changed().await.is_err() {
                return;
            }
        }
    }

    /// Whether the scan that was asked for is done, or will never be.
    pub(super) fn is_answered(&self, asked: &mut Asked) -> bool {
        let known = self.known();
        let top = match known.places.get(&asked.dir) {
            Some(Place::Unknown) => return false,
            Some(Place::In(top)) => top,
            Some(Place::Nowhere(_)) | None => return true,
        };
        let Some(tree) = known.trees.get(top) else {
            return true;
        };
        tree.has_answered(*asked.look.get_or_insert_with(|| tree.ask()))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A requested scan of a directory's worktree.
pub(super) struct Asked {
    dir: PathBuf,
    /// The request's number; `None` until the worktree is known.
    look: Option<u64>,
}

impl Asked {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            look: None,
        }
    }
}

/// The real path of the top of the worktree that contains `dir`.
pub(super) fn worktree_of(dir: &Path) -> Option<PathBuf> {
    let dir = std::fs::canonicalize(dir).ok()?;
    let top = dir.ancestors().find(|above| above.join(".git").exists())?;
    Some(top.to_owned())
}
