//! Scans one directory of status files, and watches it for changes.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use hub_protocol::git::{self, Tracking};
use hub_protocol::{InboxName, InvalidName, StatusLine, Timestamp};

use super::file_state::{CLOCK_RESOLUTION_MS, FileState, SessionFacts};
use super::publisher::StatusPublisher;
use super::worktrees::Worktrees;
use super::{BELOW_WORKTREE, DEBOUNCE, RETRY, SCAN_INTERVAL};
use crate::Verdict;
use crate::dir_watcher::{DirWatcher, WatchError};
use crate::untrusted_dir::{DirError, FileVersion, UntrustedDir};

/// Above this many remembered files, those that no longer exist are forgotten.
const MAX_FILES: usize = 2_000;

/// A directory of status files, which may not exist yet.
pub(super) struct StatusScanner {
    root: PathBuf,
    below: &'static [&'static str],
    /// The known worktrees, if this directory is in one; `None` for the state directory.
    worktrees: Option<Arc<Worktrees>>,
    /// Whether it has been scanned before. A file that appears later is new.
    scanned: bool,
    files: HashMap<String, FileState>,
    /// The last warning about the directory itself.
    warned: Option<String>,
    watched: Option<WatchedDir>,
}

/// The directory that the system watches: the deepest one that exists, and its identity.
#[derive(Debug, PartialEq, Eq)]
struct WatchedDir {
    path: PathBuf,
    id: (u64, u64),
    /// Creation time, because an inode number may be reused at once.
    created: Option<SystemTime>,
}

impl StatusScanner {
    /// Scans the directory `below` `root`, which is a trusted directory or a worktree.
    pub(super) fn new(
        root: &Path,
        below: &'static [&'static str],
        worktrees: Option<Arc<Worktrees>>,
    ) -> Self {
        Self {
            root: root.to_owned(),
            below,
            worktrees,
            scanned: false,
            files: HashMap::new(),
            warned: None,
            watched: None,
        }
    }

    fn path(&self) -> PathBuf {
        self.root.join(self.below.iter().collect::<PathBuf>())
    }

    /// Watches the directory, or the deepest existing directory above it. Returns whether that succeeded.
    fn watch(&mut self, watcher: &DirWatcher) -> bool {
        // No event reports a directory that was created before its parent was watched, so each round checks again.
        for _ in 0..self.below.len() + 2 {
            let deepest = self.deepest();
            if deepest == self.watched {
                return true;
            }
            if !self.watch_instead(deepest, watcher) {
                return false;
            }
        }
        false
    }

    /// The deepest directory that exists on the path to the status files.
    fn deepest(&self) -> Option<WatchedDir> {
        let steps = self.below.iter().scan(self.root.clone(), |path, part| {
            path.push(part);
            Some(path.clone())
        });
        let steps = std::iter::once(self.root.clone()).chain(steps);
        steps.map_while(WatchedDir::at).last()
    }

    fn watch_instead(&mut self, deepest: Option<WatchedDir>, watcher: &DirWatcher) -> bool {
        let path = |it: &Option<WatchedDir>| it.as_ref().map(|it| it.path.clone());
        let (next, previous) = (path(&deepest), path(&self.watched));
        match watcher.watch(next.as_deref(), previous.as_deref()) {
            Err(WatchError::Busy) => return false,
            Err(WatchError::Refused(error)) => {
                self.warn(&format!(
                    "{error}; its files are looked at every {SCAN_INTERVAL:?} only"
                ));
            }
            Ok(()) => {}
        }
        self.watched = deepest;
        true
    }

    fn warn(&mut self, reason: &impl std::fmt::Display) {
        let path = self.path();
        warn_once(&mut self.warned, &path, reason);
    }

    /// Scans every file, and returns the delay until the next scan; `None` if the root is gone.
    pub(super) async fn scan(
        &mut self,
        publisher: &StatusPublisher<'_>,
        watcher: &DirWatcher,
    ) -> Option<Duration> {
        // Watch first, then scan, so that no write in between is lost; a write that both see counts once.
        let mut delay = if self.watch(watcher) {
            SCAN_INTERVAL
        } else {
            RETRY
        };
        let dir = match UntrustedDir::open(&self.root, self.below) {
            Ok(dir) => dir,
            Err(DirError::RootMissing) => return None,
            Err(DirError::Missing) => {
                self.scanned = true;
                return Some(delay);
            }
            Err(DirError::Refused(error)) => {
                self.warn(&error);
                return Some(delay);
            }
        };
        let names = match dir.names() {
            Ok(names) => names,
            Err(error) => {
                self.warn(&error);
                return Some(delay);
            }
        };
        for name in &names {
            delay = delay.min(self.scan_file(&dir, name, publisher).await);
        }
        if self.files.len() > MAX_FILES {
            self.files.retain(|name, _| names.contains(name));
        }
        self.scanned = true;
        Some(delay)
    }

    async fn scan_file(
        &mut self,
        dir: &UntrustedDir,
        name: &str,
        publisher: &StatusPublisher<'_>,
    ) -> Duration {
        let path = self.path().join(name);
        let state = self.files.entry(name.to_owned());
        let state = state.or_insert_with(|| FileState::new(!self.scanned));
        let session = match session_of(name) {
            Ok(session) => session,
            Err(reason) => {
                state.warn(&path, &reason);
                return SCAN_INTERVAL;
            }
        };
        // One byte above the limit is enough to detect a file that is too large.
        let (version, content) = match dir.read(name, StatusLine::MAX_FILE_BYTES + 1) {
            Ok(Some(read)) => read,
            Ok(None) => return DEBOUNCE,
            Err(error) => {
                state.warn(&path, &error);
                return SCAN_INTERVAL;
            }
        };
        if state.has_processed(&version) {
            return SCAN_INTERVAL;
        }
        state.observe(version);
        if !state.is_complete(&content) {
            return DEBOUNCE;
        }
        match StatusLine::read(&content) {
            Ok(line) => {
                let worktrees = self.worktrees.as_deref();
                let file = StatusFile {
                    path: &path,
                    session: &session,
                    worktree: worktrees.map(|all| (all, self.root.as_path())),
                    version,
                };
                file.publish(line, state, publisher).await
            }
            Err(error) => {
                state.warn(&path, &error);
                state.finish();
                state.next_scan()
            }
        }
    }
}

/// The session that the file `name` belongs to.
fn session_of(name: &str) -> Result<InboxName, String> {
    let session: InboxName = name
        .parse()
        .map_err(|error: InvalidName| error.to_string())?;
    if session.is_reserved() {
        return Err(format!("'{session}' is not a sender: the name is reserved"));
    }
    Ok(session)
}

/// One write of a status file.
struct StatusFile<'a> {
    path: &'a Path,
    session: &'a InboxName,
    /// All worktrees and the top of this file's worktree; `None` in the state directory.
    worktree: Option<(&'a Worktrees, &'a Path)>,
    version: FileVersion,
}

impl StatusFile<'_> {
    /// Publishes the line if it is new, and returns the delay until the file's next scan.
    async fn publish(
        &self,
        line: StatusLine,
        state: &mut FileState,
        publisher: &StatusPublisher<'_>,
    ) -> Duration {
        let (sender, facts) = match publisher.sender(self.worktree, self.session) {
            Ok(Some(found)) => found,
            Ok(None) => {
                // The file counts as soon as its session is registered, because that requests another scan.
                state.warn(self.path, &"no live session of this worktree is called so");
                return SCAN_INTERVAL;
            }
            Err(_) => return RETRY,
        };
        if !state.is_new(&line, &facts) {
            state.set_last(line, None);
            return state.next_scan();
        }
        let verdict = match self.origin(&facts) {
            FileOrigin::Session => publisher.publish(sender, &line, &self.version).await,
            FileOrigin::Unknown => Verdict::Later,
            FileOrigin::Foreign(reason) => Verdict::Refused(reason),
        };
        match verdict {
            Verdict::Stored => state.set_last(line, Some(Timestamp::now())),
            Verdict::Refused(reason) => {
                state.warn(self.path, &reason);
                state.finish();
            }
            Verdict::Later => return RETRY,
        }
        state.next_scan()
    }

    /// Checks a file in a worktree, because a clone can create files of any name.
    fn origin(&self, facts: &SessionFacts) -> FileOrigin {
        let Some((_, top)) = self.worktree else {
            return FileOrigin::Session;
        };
        let earliest = facts
            .started_at
            .map(|at| at.plus_millis(-CLOCK_RESOLUTION_MS));
        if earliest > Some(self.version.modified_at()) {
            return FileOrigin::Foreign("it is older than the session".into());
        }
        let file = format!("{}/{}", BELOW_WORKTREE.join("/"), self.session);
        match git::tracking(top, &file, Instant::now() + git::PATIENCE) {
            Ok(Tracking::Untracked) => FileOrigin::Session,
            Ok(Tracking::Busy) => FileOrigin::Unknown,
            Ok(Tracking::Tracked) => {
                FileOrigin::Foreign("git tracks it, so it came with the repository".into())
            }
            Err(error) => {
                FileOrigin::Foreign(format!("whether git tracks it is not known: {error}"))
            }
        }
    }
}

/// The source of a status file.
enum FileOrigin {
    /// The session may have written it.
    Session,
    /// Not known yet, because git is writing its index.
    Unknown,
    /// Another source than the session, for this reason.
    Foreign(String),
}

impl WatchedDir {
    fn at(path: PathBuf) -> Option<Self> {
        let meta = std::fs::symlink_metadata(&path).ok()?;
        let id = (meta.dev(), meta.ino());
        let created = meta.created().ok();
        meta.is_dir().then_some(Self { path, id, created })
    }
}

/// Logs why a file or directory is ignored. The same reason is logged once; `logged` is the last one.
pub(super) fn warn_once(logged: &mut Option<String>, path: &Path, reason: &impl std::fmt::Display) {
    let why = reason.to_string();
    if logged.as_ref() != Some(&why) {
        tracing::warn!(file = %path.display(), why, "a status file is ignored");
        *logged = Some(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_created_while_its_parent_is_being_watched_is_watched_or_reported() {
        for _ in 0..1_000 {
            let dir = tempfile::tempdir().unwrap();
            let watcher = DirWatcher::new();
            let changed = Arc::new(tokio::sync::Notify::new());
            watcher.subscribe(dir.path().to_owned(), Some(".hub"), &changed);
            let mut scanner = StatusScanner::new(dir.path(), &[".hub", "status"], None);
            let path = scanner.path();
            let start = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    std::fs::create_dir_all(&path).unwrap();
                });
                start.wait();
                scanner.watch(&watcher);
            });
            if scanner.watched.as_ref().is_none_or(|it| it.path != path) {
                let notified = tokio::time::timeout(Duration::from_secs(5), changed.notified());
                notified.await.expect("the new directory is reported");
            }
        }
    }
}
