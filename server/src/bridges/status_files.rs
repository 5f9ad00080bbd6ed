//! The bridge for status files: each session writes its state into a file named after it.
//!
//! Files in `STATE_DIR/status/SESSION` serve any process that prefers files; `WORKTREE/.hub/status/SESSION` serves
//! agents whose sandbox has no sockets and no other place to write. The bridge keeps no state on disk: after a restart
//! a line counts only if its session has not reported a state since it was written, as the log shows.
//!
//! A worktree may lie on a file system that hangs, so each has its own thread, which nothing waits for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::hub::Hub;

mod directory;
mod folder;
mod seen;
mod teller;
mod tracked;
mod watches;
mod worktrees;

use folder::Folder;
use teller::Teller;
use watches::Watches;
use worktrees::{Asked, Place, Tree, Worktrees};

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
const LOOK: Duration = Duration::from_secs(30);

/// How long a session's end waits for the last scan of its worktree.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// The handle by which the rest of the hub requests scans and registers worktrees.
#[derive(Clone)]
pub struct StatusFiles {
    hub: Hub,
    shutdown: CancellationToken,
    watches: Arc<Watches>,
    worktrees: Arc<Worktrees>,
    /// The tree of the state directory's status files.
    own: Arc<Tree>,
}

/// The watcher of the state directory's own status files.
pub struct Bridge {
    files: StatusFiles,
    folder: Folder,
}

impl StatusFiles {
    /// Sets up status files in the state directory; worktrees are added later.
    pub fn open(state_dir: &Path, hub: &Hub, shutdown: &CancellationToken) -> (Self, Bridge) {
        Self::with(state_dir, hub, shutdown, Box::new(worktrees::worktree_of))
    }

    fn with(
        state_dir: &Path,
        hub: &Hub,
        shutdown: &CancellationToken,
        find: worktrees::Find,
    ) -> (Self, Bridge) {
        let watches = Watches::new();
        let files = Self {
            hub: hub.clone(),
            shutdown: shutdown.clone(),
            own: Arc::new(Tree::new(&state_dir.join(BELOW_STATE[0]), &watches)),
            watches: Arc::new(watches),
            worktrees: Arc::new(Worktrees::new(find)),
        };
        let bridge = Bridge {
            files: files.clone(),
            folder: Folder::new(state_dir, BELOW_STATE, None),
        };
        (files, bridge)
    }

    /// Watches the worktrees that contain these directories, and forgets other directories.
    pub fn watch_worktrees(&self, dirs: &[PathBuf]) {
        self.worktrees.keep(dirs);
        for dir in dirs {
            self.watch_worktree(dir);
        }
    }

    /// Watches the worktree that contains `dir`, unless it is watched already or there is none. Returns at once,
    /// however slow the file system is.
    fn watch_worktree(&self, dir: &Path) {
        if !self.worktrees.is_new(dir) {
            return;
        }
        let (files, within) = (self.clone(), dir.to_owned());
        let thread = std::thread::Builder::new()
            .name("worktree".into())
            .spawn(move || files.tend(&within));
        if let Err(error) = thread {
            tracing::warn!(%error, "a worktree's status files are not watched");
            self.worktrees.put(dir, Place::Nowhere(Instant::now()));
        }
    }

    /// Requests a scan of every worktree, because new sessions may have written their lines before they were
    /// registered.
    pub fn look_again(&self) {
        for tree in self.worktrees.all() {
            tree.changed.notify_one();
        }
    }

    /// Waits until the state directory and the worktrees of these directories have been scanned, at most a second.
    /// Returns whether all were scanned.
    pub async fn settle(&self, dirs: &[PathBuf]) -> bool {
        let own = self.own.ask();
        let mut asked: Vec<Asked> = dirs.iter().map(|dir| Asked::new(dir)).collect();
        let answered = self.worktrees.until(|| {
            asked.retain_mut(|it| !self.worktrees.is_answered(it));
            asked.is_empty() && self.own.has_answered(own)
        });
        tokio::time::timeout(LAST_LOOK, answered).await.is_ok()
    }

    /// The main function of a worktree's thread.
    fn tend(&self, dir: &Path) {
        let Some((top, tree)) = self.worktrees.find(dir, &self.watches) else {
            return;
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(async {
                let worktrees = Some(Arc::clone(&self.worktrees));
                let mut folder = Folder::new(&top, BELOW_WORKTREE, worktrees);
                while let Some(pause) = self.look(&mut folder, &tree).await
                    && self.next(&tree, pause).await
                {}
            }),
            Err(error) => tracing::warn!(%error, "a worktree's status files are not watched"),
        }
        // In this order, because another thread may watch the same worktree as soon as it is forgotten here.
        self.watches.forget(&top);
        self.worktrees.forget(&top);
    }

    /// Scans every file of `folder`, and returns the delay until the next scan; `None` if the root is gone.
    async fn look(&self, folder: &mut Folder, tree: &Tree) -> Option<Duration> {
        let asked = tree.asked();
        let pause = folder.look(&Teller::new(&self.hub), &self.watches).await;
        // A file that may still be incomplete is read by the next scan, so the request stays unanswered.
        if pause != Some(DEBOUNCE) {
            self.worktrees.looked(tree, asked);
        }
        pause
    }

    /// Waits for the next scan; false at shutdown.
    async fn next(&self, tree: &Tree, pause: Duration) -> bool {
        tokio::select! {
            () = self.shutdown.cancelled() => false,
            () = settled(&tree.changed) => true,
            () = tokio::time::sleep(pause) => true,
        }
    }
}

impl Bridge {
    /// Scans the existing files once. A line that is written after this scan is news, even if its session reports
    /// another state first.
    pub async fn take_in(&mut self) {
        self.look().await;
    }

    /// Scans the existing files, then watches for changes until shutdown.
    pub async fn run(mut self) {
        loop {
            let pause = self.look().await;
            if !self.files.next(&self.files.own, pause).await {
                return;
            }
        }
    }

    async fn look(&mut self) -> Duration {
        let pause = self.files.look(&mut self.folder, &self.files.own).await;
        pause.unwrap_or(LOOK)
    }
}

/// Completes [`DEBOUNCE`] after the next change.
async fn settled(changed: &Notify) {
    changed.notified().await;
    tokio::time::sleep(DEBOUNCE).await;
}

#[cfg(test)]
mod tests;
