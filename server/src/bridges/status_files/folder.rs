//! One watched directory and its status files.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hub_protocol::{InboxName, InvalidName, StatusLine, Timestamp};

use super::directory::{Directory, Found, Stamp};
use super::seen::{Facts, GRAIN_MS, Seen};
use super::teller::{Teller, Writers};
use super::tracked::{Tracked, tracked};
use super::watches::{Unwatched, Watches};
use super::worktrees::Worktrees;
use super::{DEBOUNCE, LOOK, RETRY};
use crate::bridges::Verdict;

/// Above this many remembered files, those that no longer exist are forgotten.
const MAX_SEEN: usize = 2_000;

/// A directory of status files, which may not exist yet.
pub(super) struct Folder {
    root: PathBuf,
    below: &'static [&'static str],
    /// The known worktrees, if this directory is in one; `None` for the state directory.
    worktrees: Option<Arc<Worktrees>>,
    /// Whether it has been scanned before. A file that appears later is new.
    looked: bool,
    files: HashMap<String, Seen>,
    /// The last complaint about the directory itself.
    itself: Seen,
    armed: Option<Armed>,
}

/// The directory that the system watches: the deepest one that exists, and its identity.
#[derive(Debug, PartialEq, Eq)]
struct Armed {
    path: PathBuf,
    id: (u64, u64),
    /// Creation time, because an inode number may be reused at once.
    made: Option<SystemTime>,
}

impl Folder {
    /// The directory `below` `root`, which is a trusted directory or a worktree.
    pub(super) fn new(
        root: &Path,
        below: &'static [&'static str],
        worktrees: Option<Arc<Worktrees>>,
    ) -> Self {
        Self {
            root: root.to_owned(),
            below,
            worktrees,
            looked: false,
            files: HashMap::new(),
            itself: Seen::new(false),
            armed: None,
        }
    }

    fn path(&self) -> PathBuf {
        self.root.join(self.below.iter().collect::<PathBuf>())
    }

    /// Watches the directory, or the deepest existing directory above it. Returns whether that succeeded.
    fn arm(&mut self, watches: &Watches) -> bool {
        // No event reports a directory that was created before its parent was watched, so each round checks again.
        for _ in 0..self.below.len() + 2 {
            let deepest = self.deepest();
            if deepest == self.armed {
                return true;
            }
            if !self.rearm(deepest, watches) {
                return false;
            }
        }
        false
    }

    /// The deepest directory that exists on the path to the status files.
    fn deepest(&self) -> Option<Armed> {
        let steps = self.below.iter().scan(self.root.clone(), |path, part| {
            path.push(part);
            Some(path.clone())
        });
        let steps = std::iter::once(self.root.clone()).chain(steps);
        steps.map_while(Armed::at).last()
    }

    fn rearm(&mut self, deepest: Option<Armed>, watches: &Watches) -> bool {
        let path = |it: &Option<Armed>| it.as_ref().map(|it| it.path.clone());
        let (now, before) = (path(&deepest), path(&self.armed));
        match watches.arm(now.as_deref(), before.as_deref()) {
            Err(Unwatched::Busy) => return false,
            Err(Unwatched::Refused(error)) => {
                let why = format!("{error}; its files are looked at every {LOOK:?} only");
                let path = self.path();
                self.itself.complain(&path, &why);
            }
            Ok(()) => {}
        }
        self.armed = deepest;
        true
    }

    /// Scans every file, and returns the delay until the next scan; `None` if the root is gone.
    pub(super) async fn look(
        &mut self,
        teller: &Teller<'_>,
        watches: &Watches,
    ) -> Option<Duration> {
        // Watch first, then scan, so that no write in between is lost; a write that both see counts once.
        let longest = if self.arm(watches) { LOOK } else { RETRY };
        let path = self.path();
        let dir = match Directory::find(&self.root, self.below) {
            Found::Directory(dir) => dir,
            Found::Gone => return None,
            Found::Nothing => {
                self.looked = true;
                return Some(longest);
            }
            Found::Unusable(why) => {
                self.itself.complain(&path, &why);
                return Some(longest);
            }
        };
        let names = match dir.names() {
            Ok(names) => names,
            Err(error) => {
                self.itself.complain(&path, &error);
                return Some(longest);
            }
        };
        let mut pause = longest;
        for name in &names {
            pause = pause.min(self.look_at(&dir, name, teller).await);
        }
        if self.files.len() > MAX_SEEN {
            self.files.retain(|name, _| names.contains(name));
        }
        self.looked = true;
        Some(pause)
    }

    async fn look_at(&mut self, dir: &Directory, name: &str, teller: &Teller<'_>) -> Duration {
        let path = self.path().join(name);
        let seen = self
            .files
            .entry(name.to_owned())
            .or_insert_with(|| Seen::new(!self.looked));
        let session = match session(name) {
            Ok(session) => session,
            Err(why) => {
                seen.complain(&path, &why);
                return LOOK;
            }
        };
        let (stamp, content) = match dir.read(name) {
            Ok(Some(read)) => read,
            Ok(None) => return DEBOUNCE,
            Err(why) => {
                seen.complain(&path, &why);
                return LOOK;
            }
        };
        if seen.knows(&stamp) {
            return LOOK;
        }
        seen.note(stamp);
        if !seen.is_quiet(&content) {
            return DEBOUNCE;
        }
        match StatusLine::read(&content) {
            Ok(line) => {
                let top = self
                    .worktrees
                    .as_deref()
                    .map(|known| (known, self.root.as_path()));
                take_in(seen, line, (&session, top), (&path, &stamp), teller).await
            }
            Err(why) => {
                seen.complain(&path, &why);
                seen.rest();
                again(seen)
            }
        }
    }
}

/// The session that the file `name` belongs to.
fn session(name: &str) -> Result<InboxName, String> {
    let session: InboxName = name.parse().map_err(|why: InvalidName| why.to_string())?;
    if session.is_reserved() {
        return Err(format!("'{session}' is not a sender: the name is reserved"));
    }
    Ok(session)
}

/// Submits the line if it is news, and returns the delay until the file's next scan.
async fn take_in(
    seen: &mut Seen,
    line: StatusLine,
    (session, worktree): (&InboxName, Option<(&Worktrees, &Path)>),
    (path, stamp): (&Path, &Stamp),
    teller: &Teller<'_>,
) -> Duration {
    let writers = worktree.map_or(Writers::All, |(known, top)| Writers::Of(known, top));
    let (writer, facts) = match teller.writer(&writers, session) {
        Ok(Some(known)) => known,
        Ok(None) => {
            // The file counts as soon as its session is registered, because that requests another scan.
            seen.complain(path, &"no live session of this worktree is called so");
            return LOOK;
        }
        Err(_) => return RETRY,
    };
    if !seen.is_news(&line, &facts) {
        seen.settle(line, None);
        return again(seen);
    }
    let told = match worktree.map(|(_, top)| doubt(top, session, &facts, stamp)) {
        Some(Doubt::Refused(why)) => Verdict::Refused(why),
        Some(Doubt::Busy) => Verdict::Later,
        Some(Doubt::None) | None => teller.tell(writer, &line, stamp).await,
    };
    match told {
        Verdict::Stored => seen.settle(line, Some(Timestamp::now())),
        Verdict::Refused(why) => {
            seen.complain(path, &why);
            seen.rest();
        }
        Verdict::Later => return RETRY,
    }
    again(seen)
}

/// Whether the file may come from another source than the session.
enum Doubt {
    None,
    /// Git is writing its index, so the answer is not known yet.
    Busy,
    Refused(String),
}

/// Checks a file in a worktree, because a clone can create files of any name.
fn doubt(top: &Path, session: &InboxName, facts: &Facts, stamp: &Stamp) -> Doubt {
    let began = facts.begun.map(|at| at.plus_millis(-GRAIN_MS));
    if began > Some(stamp.written()) {
        return Doubt::Refused("it is older than the session".into());
    }
    match tracked(top, session.as_str()) {
        Ok(Tracked::No) => Doubt::None,
        Ok(Tracked::Busy) => Doubt::Busy,
        Ok(Tracked::Yes) => Doubt::Refused("git tracks it, so it came with the repository".into()),
        Err(error) => Doubt::Refused(format!("whether git tracks it is not known: {error}")),
    }
}

fn again(seen: &Seen) -> Duration {
    if seen.is_settled() { LOOK } else { DEBOUNCE }
}

impl Armed {
    fn at(path: PathBuf) -> Option<Self> {
        let meta = std::fs::symlink_metadata(&path).ok()?;
        let id = (meta.dev(), meta.ino());
        let made = meta.created().ok();
        meta.is_dir().then_some(Self { path, id, made })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_made_while_its_parent_is_armed_is_watched_or_reported() {
        for _ in 0..1_000 {
            let dir = tempfile::tempdir().unwrap();
            let watches = Watches::new();
            let changed = watches.tell(dir.path().to_owned());
            let mut folder = Folder::new(dir.path(), &[".hub", "status"], None);
            let path = folder.path();
            let start = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    std::fs::create_dir_all(&path).unwrap();
                });
                start.wait();
                folder.arm(&watches);
            });
            if folder.armed.as_ref().is_none_or(|it| it.path != path) {
                let told = tokio::time::timeout(Duration::from_secs(5), changed.notified());
                told.await.expect("what is made later is told");
            }
        }
    }
}
