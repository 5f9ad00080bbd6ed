//! The bridge for status files: each session writes its state into a file named after it.
//!
//! Files in `STATE_DIR/status/SESSION` serve any process that prefers files; `WORKTREE/.hub/status/SESSION` serves
//! agents whose sandbox has no sockets and no other place to write. The bridge keeps no state on disk: after a restart
//! a line counts only if its session has not reported a state since it was written, as the log shows. The
//! Idempotency-Key of a line is computed from its file, its time and its text, in the same way here and in `hubctl run`,
//! so that a job's last line is reported once. The first scan comes before the hub listens; otherwise a line written
//! right after start-up would count as old.
//!
//! Names and links in a worktree are not trusted: each step of a path is opened without following links. A line there
//! counts only if it comes from a live, registered session whose directory lies in the worktree, was written after that
//! session (or its process) began, and is in a file that git's index does not list. Before a session whose process has
//! ended is ended, its worktree is scanned once more for its last line.
//!
//! A worktree may lie on a file system that hangs, so each has its own thread, which nothing waits for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hub_engine::Hub;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::dir_watcher::DirWatcher;

mod file_state;
mod publisher;
mod scanner;
mod worktrees;

use publisher::StatusPublisher;
use scanner::StatusScanner;
use worktrees::{FindWorktree, Location, WatchedTree, Worktrees};

/// The directory of status files below the state directory.
const BELOW_STATE: &[&str] = &["status"];

/// The directory of status files below the top of a worktree.
const BELOW_WORKTREE: &[&str] = &[".hub", "status"];

/// Delay from a change to the scan, so that one scan covers the writes of several sessions, and the last of several
/// quick writes to one file.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// Delay before a retry of lines that could not be stored.
const RETRY: Duration = Duration::from_secs(1);

/// Scan interval besides file system events, because a system may drop events or run out of watches.
const SCAN_INTERVAL: Duration = Duration::from_secs(30);

/// How long a session's end waits for the last scan of its worktree.
const FINAL_SCAN: Duration = Duration::from_secs(1);

/// The handle by which the rest of the hub requests scans and registers worktrees.
#[derive(Clone)]
pub struct StatusFiles {
    hub: Hub,
    shutdown: CancellationToken,
    watcher: Arc<DirWatcher>,
    worktrees: Arc<Worktrees>,
    /// The tree of the state directory's status files.
    own: Arc<WatchedTree>,
}

/// The bridge of the state directory's own status files.
pub struct StateDirBridge {
    files: StatusFiles,
    scanner: StatusScanner,
}

impl StatusFiles {
    /// Sets up status files in the state directory; worktrees are added later.
    pub fn open(
        state_dir: &Path,
        hub: &Hub,
        shutdown: &CancellationToken,
    ) -> (Self, StateDirBridge) {
        Self::with(state_dir, hub, shutdown, Box::new(worktrees::worktree_of))
    }

    fn with(
        state_dir: &Path,
        hub: &Hub,
        shutdown: &CancellationToken,
        find: FindWorktree,
    ) -> (Self, StateDirBridge) {
        let watcher = DirWatcher::new();
        let files = Self {
            hub: hub.clone(),
            shutdown: shutdown.clone(),
            own: Arc::new(WatchedTree::new(
                &state_dir.join(BELOW_STATE[0]),
                None,
                &watcher,
            )),
            watcher: Arc::new(watcher),
            worktrees: Arc::new(Worktrees::new(find)),
        };
        let bridge = StateDirBridge {
            files: files.clone(),
            scanner: StatusScanner::new(state_dir, BELOW_STATE, None),
        };
        (files, bridge)
    }

    /// The watcher, which other bridges share.
    pub(super) fn watcher(&self) -> &Arc<DirWatcher> {
        &self.watcher
    }

    /// Watches the worktrees that contain these directories, and forgets other directories.
    pub fn watch_worktrees(&self, dirs: &[PathBuf]) {
        self.worktrees.retain(dirs);
        for dir in dirs {
            self.watch_worktree(dir);
        }
    }

    /// Watches the worktree that contains `dir`, unless it is watched already or there is none. Returns at once,
    /// however slow the file system is.
    fn watch_worktree(&self, dir: &Path) {
        if !self.worktrees.claim(dir) {
            return;
        }
        let (files, within) = (self.clone(), dir.to_owned());
        let thread = std::thread::Builder::new()
            .name("worktree".into())
            .spawn(move || files.run_worktree(&within));
        if let Err(error) = thread {
            tracing::warn!(%error, "a worktree's status files are not watched");
            self.worktrees
                .set_location(dir, Location::Outside(Instant::now()));
        }
    }

    /// Requests a scan of every worktree, because new sessions may have written their lines before they were
    /// registered.
    pub fn request_scans(&self) {
        for tree in self.worktrees.all() {
            tree.changed.notify_one();
        }
    }

    /// Waits until the state directory and the worktrees of these directories have been scanned, at most a second.
    /// Returns whether all were scanned.
    pub async fn scan_now(&self, dirs: &[PathBuf]) -> bool {
        let own = self.own.request_scan();
        let mut requests: Vec<_> = dirs.iter().map(|dir| (dir, None)).collect();
        let scanned = self.worktrees.wait_until(|| {
            requests.retain_mut(|(dir, request)| !self.worktrees.is_scanned(dir, request));
            requests.is_empty() && self.own.has_scanned(own)
        });
        tokio::time::timeout(FINAL_SCAN, scanned).await.is_ok()
    }

    /// The main function of a worktree's thread.
    fn run_worktree(&self, dir: &Path) {
        let Some((top, tree)) = self.worktrees.resolve(dir, &self.watcher) else {
            return;
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(async {
                let worktrees = Some(Arc::clone(&self.worktrees));
                let mut scanner = StatusScanner::new(&top, BELOW_WORKTREE, worktrees);
                while let Some(delay) = self.scan(&mut scanner, &tree).await
                    && self.wait(&tree, delay).await
                {}
            }),
            Err(error) => tracing::warn!(%error, "a worktree's status files are not watched"),
        }
        // In this order, because another thread may watch the same worktree as soon as it is forgotten here.
        self.watcher.unsubscribe(&top);
        self.worktrees.forget(&top);
    }

    /// Scans every file, and returns the delay until the next scan; `None` if the root is gone.
    async fn scan(&self, scanner: &mut StatusScanner, tree: &WatchedTree) -> Option<Duration> {
        let request = tree.requested();
        let publisher = StatusPublisher::new(&self.hub);
        let delay = scanner.scan(&publisher, &self.watcher).await;
        // A file that may still be incomplete is read by the next scan, so the request stays unanswered.
        if delay != Some(DEBOUNCE) {
            self.worktrees.set_scanned(tree, request);
        }
        delay
    }

    /// Waits for the next scan; false at shutdown.
    async fn wait(&self, tree: &WatchedTree, delay: Duration) -> bool {
        tokio::select! {
            () = self.shutdown.cancelled() => false,
            () = debounced(&tree.changed) => true,
            () = tokio::time::sleep(delay) => true,
        }
    }
}

impl StateDirBridge {
    /// Scans the existing files once, and returns the delay until the next scan. A line that is written after this scan
    /// is new, even if its session reports another state first.
    pub async fn scan(&mut self) -> Duration {
        let scanned = self.files.scan(&mut self.scanner, &self.files.own);
        scanned.await.unwrap_or(SCAN_INTERVAL)
    }

    /// Scans the existing files, then watches for changes until shutdown.
    pub async fn run(mut self) {
        loop {
            let delay = self.scan().await;
            if !self.files.wait(&self.files.own, delay).await {
                return;
            }
        }
    }
}

/// Completes [`DEBOUNCE`] after the next change.
async fn debounced(changed: &Notify) {
    changed.notified().await;
    tokio::time::sleep(DEBOUNCE).await;
}

#[cfg(test)]
mod tests;
