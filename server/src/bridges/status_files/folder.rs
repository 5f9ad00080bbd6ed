//! One watched directory and its files.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hub_protocol::{InboxName, InvalidName, ProjectName, StatusLine, Timestamp};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::directory::{Directory, Found, Stamp};
use super::seen::Seen;
use super::teller::Teller;
use super::{DEBOUNCE, LOOK, RETRY};
use crate::bridges::Verdict;

/// Files that are remembered; beyond this, those that are gone are forgotten.
const MAX_SEEN: usize = 2_000;

/// A directory, which need not exist yet.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    below: &'static [&'static str],
    /// The project of its sessions, if it says.
    project: Option<ProjectName>,
    /// It was looked at before: what appears now is new.
    looked: bool,
    files: HashMap<String, Seen>,
    /// About the directory itself.
    itself: Seen,
    armed: Option<Armed>,
}

/// What the system watches: the deepest directory that exists, and which one that was.
#[derive(Debug, PartialEq, Eq)]
struct Armed {
    path: PathBuf,
    id: (u64, u64),
}

impl Folder {
    /// The directory `below` `root`, a directory that is trusted.
    pub(super) fn new(
        root: &Path,
        below: &'static [&'static str],
        project: Option<ProjectName>,
    ) -> Self {
        Self {
            root: root.to_owned(),
            below,
            project,
            looked: false,
            files: HashMap::new(),
            itself: Seen::new(false),
            armed: None,
        }
    }

    /// The trusted directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self) -> PathBuf {
        self.root.join(self.below.iter().collect::<PathBuf>())
    }

    /// Has `watcher` watch the directory, or what it is to appear in.
    pub(super) fn arm(&mut self, watcher: &mut RecommendedWatcher) {
        let mut steps = vec![self.root.clone()];
        steps.extend(self.below.iter().scan(self.root.clone(), |path, part| {
            path.push(part);
            Some(path.clone())
        }));
        let deepest = steps.into_iter().map_while(Armed::at).last();
        if deepest == self.armed {
            return;
        }
        if let Some(before) = self.armed.take() {
            // A directory that is gone took its watch along.
            let _ = watcher.unwatch(&before.path);
        }
        if let Some(armed) = &deepest
            && let Err(error) = watcher.watch(&armed.path, RecursiveMode::NonRecursive)
        {
            let why = format!("{error}; its files are looked at every {LOOK:?} only");
            self.itself.complain(&armed.path, &why);
        }
        self.armed = deepest;
    }

    /// Looks at every file, and tells when to look again; `None` if the root is gone.
    pub(super) async fn look(&mut self, teller: &Teller<'_>) -> Option<Duration> {
        let path = self.path();
        let dir = match Directory::find(&self.root, self.below) {
            Found::Directory(dir) => dir,
            Found::Gone => return None,
            Found::Nothing => {
                self.looked = true;
                return Some(LOOK);
            }
            Found::Unusable(why) => {
                self.itself.complain(&path, &why);
                return Some(LOOK);
            }
        };
        let names = match dir.names() {
            Ok(names) => names,
            Err(error) => {
                self.itself.complain(&path, &error);
                return Some(LOOK);
            }
        };
        let mut pause = LOOK;
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
        let session: Result<InboxName, InvalidName> = name.parse();
        let session = match session {
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
                let from = (self.project.as_ref(), &session);
                take_in(seen, line, from, (&path, &stamp), teller).await
            }
            Err(why) => {
                seen.complain(&path, &why);
                seen.rest();
                again(seen)
            }
        }
    }
}

/// Tells the line if it is news; tells when to look at the file again.
async fn take_in(
    seen: &mut Seen,
    line: StatusLine,
    (project, session): (Option<&ProjectName>, &InboxName),
    write: (&Path, &Stamp),
    teller: &Teller<'_>,
) -> Duration {
    let Ok((writer, facts)) = teller.facts(project, session).await else {
        return RETRY;
    };
    if !seen.is_news(&line, &facts) {
        seen.settle(line, None);
        return again(seen);
    }
    let now = Timestamp::now();
    match teller.tell(writer, &line, write).await {
        Verdict::Stored => seen.settle(line, Some(now)),
        Verdict::Refused(why) => {
            seen.complain(write.0, &why);
            seen.rest();
        }
        Verdict::Later => return RETRY,
    }
    again(seen)
}

fn again(seen: &Seen) -> Duration {
    if seen.is_settled() { LOOK } else { DEBOUNCE }
}

impl Armed {
    fn at(path: PathBuf) -> Option<Self> {
        let meta = std::fs::symlink_metadata(&path).ok()?;
        let id = (meta.dev(), meta.ino());
        meta.is_dir().then_some(Self { path, id })
    }
}
