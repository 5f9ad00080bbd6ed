//! A cache of git's answers about directories of this machine. An answer is valid until a file that it depends on changes.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use hub_core::sync;
use hub_protocol::git::{Answers, Silence};

/// Git is asked again after this time, because a file that it would include may appear anywhere.
const FRESH: Duration = Duration::from_secs(5);

/// A file that changed at most this long before git was asked may change again without another time.
const CLOCK_RESOLUTION: Duration = Duration::from_millis(50);

/// The most directories that are remembered.
const MAX_PLACES: usize = 1_000;

static KNOWN: LazyLock<Mutex<HashMap<PathBuf, Arc<KnownPlace>>>> = LazyLock::new(Mutex::default);

/// A directory about which git was asked.
struct KnownPlace {
    answers: Arc<Answers>,
    asked: Instant,
    /// The files that decide, as they were.
    files: Vec<(PathBuf, Option<Stamp>)>,
}

/// The state of a file. A directory changes with each file in it, so only its identity counts.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    id: (u64, u64),
    content: Option<(SystemTime, u64)>,
}

/// Git's answers about `dir`, perhaps remembered. It may take until the file system answers.
pub fn answers(dir: &Path, until: Instant) -> Result<Arc<Answers>, Silence> {
    if let Some(known) = remembered(dir) {
        return Ok(known);
    }
    let (asked, now) = (Instant::now(), SystemTime::now());
    let answers = Arc::new(Answers::about(dir, until)?);
    let files = deciding(dir, &answers);
    let settled = |stamp: &Stamp| {
        stamp
            .content
            .is_none_or(|(changed, _)| changed + CLOCK_RESOLUTION < now)
    };
    if files.iter().filter_map(|(_, it)| it.as_ref()).all(settled) {
        let mut known = known();
        if known.len() >= MAX_PLACES {
            known.clear();
        }
        let place = KnownPlace {
            answers: Arc::clone(&answers),
            asked,
            files,
        };
        known.insert(dir.to_owned(), Arc::new(place));
    }
    Ok(answers)
}

fn remembered(dir: &Path) -> Option<Arc<Answers>> {
    // The files are looked at without the lock, because a file system may hang.
    let place = known().get(dir).cloned()?;
    let is_same = |(file, stamp): &(PathBuf, Option<Stamp>)| Stamp::of(file) == *stamp;
    let is_fresh = place.asked.elapsed() <= FRESH && place.files.iter().all(is_same);
    is_fresh.then(|| Arc::clone(&place.answers))
}

/// The files that decide what git says: a directory above may become a repository.
fn deciding(dir: &Path, answers: &Answers) -> Vec<(PathBuf, Option<Stamp>)> {
    let real = fs::canonicalize(dir).unwrap_or_default();
    let repository = answers.repository.as_ref();
    let top = repository.map(|it| it.worktree.as_deref().unwrap_or(&it.git_dir));
    let below_top = real
        .ancestors()
        .take_while(|above| top.is_none_or(|top| above.starts_with(top)));
    let mut files = vec![dir.to_owned()];
    files.extend(below_top.map(|above| above.join(".git")));
    files.extend(answers.sources());
    files
        .into_iter()
        .map(|file| {
            let stamp = Stamp::of(&file);
            (file, stamp)
        })
        .collect()
}

impl Stamp {
    fn of(file: &Path) -> Option<Self> {
        let meta = fs::metadata(file).ok()?;
        let content = || Some((meta.modified().ok()?, meta.len()));
        Some(Self {
            id: (meta.dev(), meta.ino()),
            content: if meta.is_dir() { None } else { content() },
        })
    }
}

fn known() -> MutexGuard<'static, HashMap<PathBuf, Arc<KnownPlace>>> {
    sync::lock(&KNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) {
        let done = Command::new("git").args(args).current_dir(dir).output();
        assert!(done.unwrap().status.success(), "git {args:?}");
    }

    fn look(dir: &Path) -> Arc<Answers> {
        answers(dir, Instant::now() + Duration::from_secs(60)).unwrap()
    }

    /// Asks until the answers are remembered.
    fn settled(dir: &Path) -> Arc<Answers> {
        loop {
            let answers = look(dir);
            if Arc::ptr_eq(&answers, &look(dir)) {
                return answers;
            }
            std::thread::sleep(CLOCK_RESOLUTION);
        }
    }

    #[test]
    fn git_is_asked_again_once_a_file_that_decides_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        let deep = dir.join("app/src");
        fs::create_dir_all(&deep).unwrap();
        let project = || look(&deep).project().unwrap().0.to_string();
        settled(&deep);
        assert_eq!(project(), "default");
        git(&dir, &["init", "-q", "-b", "one"]);
        assert_eq!(project(), dir.to_str().unwrap());
        settled(&deep);
        git(&dir, &["config", "hub.project", "shop"]);
        assert_eq!(project(), "shop");
        settled(&deep);
        git(&dir, &["checkout", "-q", "-b", "two"]);
        let branch = look(&deep).repository.clone().unwrap().branch;
        assert_eq!(branch.as_deref(), Some("two"));
        settled(&deep);
        git(&dir.join("app"), &["init", "-q"]);
        assert_eq!(project(), dir.join("app").to_str().unwrap());
        settled(&deep);
        fs::remove_dir_all(dir.join("app/.git")).unwrap();
        assert_eq!(project(), "shop");
    }
}
