//! Whether git tracks a file: one that came with the repository was not written by a session.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::inquiry::{Inquiry, Silence, Trust};
use super::repository::Repository;

/// A lock file older than this was left behind by a git process that died.
const STALE: Duration = Duration::from_secs(600);

/// Whether git tracks a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Tracking {
    /// Git does not track it.
    Untracked,
    /// The index lists it or a directory above it, or one of these has a repository of its own.
    Tracked,
    /// A git command is changing the worktree; it updates the index last.
    Busy,
}

/// Whether git tracks the file `path` of the worktree `top`. Case is ignored, because a file system that ignores case finds
/// the file under either name.
pub fn tracking(top: &Path, path: &str, until: Instant) -> Result<Tracking, Silence> {
    let dirs: Vec<&str> = path.match_indices('/').map(|(at, _)| &path[..at]).collect();
    let has_own = |dir: &&str| fs::symlink_metadata(top.join(dir).join(".git")).is_ok();
    if dirs.iter().any(has_own) {
        return Ok(Tracking::Tracked);
    }
    let repository = Repository::of(top, until)
        .ok_or_else(|| Silence::Refused("git does not know the worktree".into()))?;
    if let Ok(lock) = fs::symlink_metadata(repository.git_dir.join("index.lock"))
        && lock
            .modified()
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age < STALE))
    {
        return Ok(Tracking::Busy);
    }
    let first = dirs.first().copied().unwrap_or(path);
    let below = format!(":(icase){first}");
    let list = ["ls-files", "-z", "--cached", "--", &below];
    let answer = Inquiry::ask(top, Trust::All, &list)?.answer(until)?;
    if answer.code != Some(0) {
        return Err(answer.refusal());
    }
    let mut listed = answer.text.split(|byte| *byte == 0);
    let is_it = |entry: &[u8]| {
        let is = |it: &str| it.as_bytes().eq_ignore_ascii_case(entry);
        is(path) || dirs.iter().any(|dir| is(dir))
    };
    Ok(if listed.any(is_it) {
        Tracking::Tracked
    } else {
        Tracking::Untracked
    })
}
