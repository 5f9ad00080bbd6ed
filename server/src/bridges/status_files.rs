//! Status files: what sessions write into a file of their own name, taken in when it changes.
//!
//! `STATE_DIR/status/SESSION` is for whoever likes files; `WORKTREE/.hub/status/SESSION` for agents whose sandbox has no
//! sockets and no other place to write. The log itself says what was taken in: after a restart a line counts only if
//! the session said nothing since it was written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hub_protocol::ProjectName;
use notify::{RecommendedWatcher, Watcher};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::hub::Hub;

mod directory;
mod folder;
mod seen;
mod teller;

use folder::Folder;
use teller::Teller;

/// Where the files are below the state directory.
const BELOW_STATE: &[&str] = &["status"];

/// Where they are below the top of a worktree.
const BELOW_WORKTREE: &[&str] = &[".hub", "status"];

/// How long after a change to look: what several sessions write at once is taken in together, and of what one writes in
/// a hurry the last.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// How long to wait before what the hub could not take is offered again.
const RETRY: Duration = Duration::from_secs(1);

/// How often to look without having been told: a system may drop events, or have no watches left.
const LOOK: Duration = Duration::from_secs(30);

/// Worktrees that are watched at most.
const MAX_WORKTREES: usize = 1_000;

/// Tells the bridge where else to look.
#[derive(Debug, Clone)]
pub struct StatusFiles {
    found: mpsc::UnboundedSender<(ProjectName, PathBuf)>,
}

/// The bridge itself.
#[derive(Debug)]
pub struct Bridge {
    folders: Vec<Folder>,
    found: mpsc::UnboundedReceiver<(ProjectName, PathBuf)>,
    changed: Arc<Notify>,
    /// Nothing where the system has no watches.
    watcher: Option<RecommendedWatcher>,
}

impl StatusFiles {
    /// Status files in the state directory, and in the worktrees that are named later.
    pub fn open(state_dir: &Path) -> (Self, Bridge) {
        let (sender, found) = mpsc::unbounded_channel();
        let changed = Arc::new(Notify::new());
        let bridge = Bridge {
            folders: vec![Folder::new(state_dir, BELOW_STATE, None)],
            found,
            watcher: watcher(state_dir, Arc::clone(&changed)),
            changed,
        };
        (Self { found: sender }, bridge)
    }

    /// Watches the worktree that holds `dir`; its sessions belong to `project`. Nothing happens where it is watched
    /// already, or where `dir` is in no worktree. Worktrees named before the bridge runs are watched from its start.
    pub fn watch_worktree(&self, project: &ProjectName, dir: &Path) {
        // Once the bridge has ended nobody needs to know.
        let _ = self.found.send((project.clone(), dir.to_owned()));
    }
}

impl Bridge {
    /// Takes in what is there. A line that is written after this is news, whatever its session says meanwhile.
    pub async fn take_in(&mut self, hub: &Hub) {
        self.look(hub).await;
    }

    /// Takes in what is there and what comes, until `shutdown`.
    pub async fn run(mut self, hub: &Hub, shutdown: &CancellationToken) {
        loop {
            let pause = self.look(hub).await;
            tokio::select! {
                () = shutdown.cancelled() => return,
                Some((project, dir)) = self.found.recv() => self.add(project, &dir),
                () = settled(&self.changed) => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    fn add(&mut self, project: ProjectName, dir: &Path) {
        let Some(root) = worktree_of(dir) else { return };
        if self.folders.iter().any(|folder| folder.root() == root) {
            return;
        }
        if self.folders.len() > MAX_WORKTREES {
            tracing::warn!(worktree = %root.display(), "too many worktrees: its status files are not watched");
            return;
        }
        self.folders
            .push(Folder::new(&root, BELOW_WORKTREE, Some(project)));
    }

    /// Looks at every file, and tells when to look again.
    async fn look(&mut self, hub: &Hub) -> Duration {
        while let Ok((project, dir)) = self.found.try_recv() {
            self.add(project, &dir);
        }
        let mut pause = LOOK;
        let mut gone = Vec::new();
        for (at, folder) in self.folders.iter_mut().enumerate() {
            // What is written between the watch and the look is seen by both, once.
            if let Some(watcher) = &mut self.watcher {
                folder.arm(watcher);
            }
            match folder.look(&Teller::new(hub)).await {
                Some(again) => pause = pause.min(again),
                None => gone.push(at),
            }
        }
        for at in gone.into_iter().rev() {
            self.folders.remove(at);
        }
        pause
    }
}

/// Tells `changed` of every change that may be in a status file, while it is held.
fn watcher(state_dir: &Path, changed: Arc<Notify>) -> Option<RecommendedWatcher> {
    let own = state_dir.join(BELOW_STATE[0]);
    let of_ours = move |path: &PathBuf| {
        path.starts_with(&own) || path.iter().any(|part| part == BELOW_WORKTREE[0])
    };
    let tell = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        // Our own reading is no change, nor is what else happens at the top of a worktree.
        let ours = !event.kind.is_access() && event.paths.iter().any(&of_ours);
        if ours || event.need_rescan() {
            changed.notify_one();
        }
    };
    notify::RecommendedWatcher::new(tell, notify::Config::default())
        .inspect_err(
            |error| tracing::warn!(%error, "status files are looked at every {LOOK:?} only"),
        )
        .ok()
}

/// Returns a moment after a change.
async fn settled(changed: &Notify) {
    changed.notified().await;
    tokio::time::sleep(DEBOUNCE).await;
}

/// The top of the worktree that holds `dir`, its real path.
fn worktree_of(dir: &Path) -> Option<PathBuf> {
    let dir = std::fs::canonicalize(dir).ok()?;
    let top = dir.ancestors().find(|above| above.join(".git").exists())?;
    Some(top.to_owned())
}

#[cfg(test)]
mod tests;
