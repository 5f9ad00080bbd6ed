//! Whether git tracks a status file: a file that came with the repository was not written by a session.
//!
//! The format is gitformat-index(5), versions 2 to 4. Only the first entries of the index are read: it is sorted, and
//! `.hub/` sorts before nearly everything else.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

/// A lock file older than this was left behind by a git process that died.
const STALE: Duration = Duration::from_secs(600);

/// Longest path in an index that is accepted, in bytes.
const MAX_PATH: u64 = 64 * 1024;

/// The scan of an index ends at this path, because all status files sort before it.
const END: &[u8] = b".hub0";

/// Whether git tracks a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GitStatus {
    /// Git does not track it.
    Untracked,
    /// The index lists it, or `.hub` contains a repository of its own.
    Tracked,
    /// A git command is changing the worktree; it updates the index last.
    Busy,
}

/// Whether git tracks `.hub/status/NAME` of the worktree `top`; an error if the index cannot be parsed.
pub(super) fn git_status(top: &Path, name: &str) -> io::Result<GitStatus> {
    let inner = [".hub/.git", ".hub/status/.git"];
    if inner
        .iter()
        .any(|it| fs::symlink_metadata(top.join(it)).is_ok())
    {
        return Ok(GitStatus::Tracked);
    }
    let git_dir = git_dir(top)?;
    if let Ok(lock) = fs::symlink_metadata(git_dir.join("index.lock"))
        && lock.modified()?.elapsed().is_ok_and(|age| age < STALE)
    {
        return Ok(GitStatus::Busy);
    }
    let file = format!(".hub/status/{name}");
    let paths = [".hub", ".hub/", ".hub/status", ".hub/status/", &file];
    for index in indexes(&git_dir)? {
        if index_contains(&index, &paths)? {
            return Ok(GitStatus::Tracked);
        }
    }
    Ok(GitStatus::Untracked)
}

/// The worktree's own git directory.
fn git_dir(top: &Path) -> io::Result<PathBuf> {
    let dot_git = top.join(".git");
    if fs::metadata(&dot_git)?.is_dir() {
        return Ok(dot_git);
    }
    let mut text = String::new();
    open_regular(&dot_git)?
        .take(MAX_PATH)
        .read_to_string(&mut text)?;
    let dir = text.strip_prefix("gitdir:").ok_or_else(unrecognized)?;
    Ok(top.join(dir.trim()))
}

/// The index and its shared parts, if they exist. A shared part that is no longer used counts too.
fn indexes(git_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(git_dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "index" || name.as_encoded_bytes().starts_with(b"sharedindex.") {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn index_contains(index: &Path, paths: &[&str]) -> io::Result<bool> {
    // The hash length is in the repository's configuration; an index with one length never parses with the other.
    const SHA1: usize = 20;
    const SHA256: usize = 32;
    match search_index(BufReader::new(open_regular(index)?), SHA1, paths) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            search_index(BufReader::new(open_regular(index)?), SHA256, paths)
        }
        done => done,
    }
}

fn search_index(mut index: impl BufRead, hash: usize, paths: &[&str]) -> io::Result<bool> {
    let head: [u8; 12] = read_array(&mut index)?;
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (version, count) = (number(4), number(8));
    if !head.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return Err(unrecognized());
    }
    let mut path = Vec::new();
    for _ in 0..count {
        read_entry(&mut index, version, hash, &mut path)?;
        // Case is ignored, because a file system that ignores case finds the file under either name.
        if paths
            .iter()
            .any(|it| it.as_bytes().eq_ignore_ascii_case(&path))
        {
            return Ok(true);
        }
        if path.as_slice() > END {
            break;
        }
    }
    Ok(false)
}

/// Reads the next entry. `path` holds the path of the entry before, and then that of this entry.
fn read_entry(
    index: &mut impl BufRead,
    version: u32,
    hash: usize,
    path: &mut Vec<u8>,
) -> io::Result<()> {
    let mut fixed = 40 + hash + 2;
    skip(index, 40 + hash)?;
    let flags = u16::from_be_bytes(read_array(index)?);
    if version >= 3 && flags & 0x4000 != 0 {
        skip(index, 2)?;
        fixed += 2;
    }
    if version == 4 {
        let cut = varint(index)?;
        let kept = path.len().checked_sub(cut).ok_or_else(unrecognized)?;
        path.truncate(kept);
    } else {
        path.clear();
    }
    index.by_ref().take(MAX_PATH).read_until(0, path)?;
    if path.pop() != Some(0) || usize::from(flags & 0xfff) != path.len().min(0xfff) {
        return Err(unrecognized());
    }
    if version < 4 {
        // Entries are padded to a multiple of eight with one to eight zeros; the first zero is already read.
        let length = fixed + path.len();
        skip(index, (length & !7) + 8 - length - 1)?;
    }
    Ok(())
}

/// Reads a number in git's offset encoding.
fn varint(index: &mut impl BufRead) -> io::Result<usize> {
    let mut value = 0_usize;
    for at in 0..4 {
        let [byte] = read_array(index)?;
        value = (value + usize::from(at > 0)) << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(unrecognized())
}

fn read_array<const N: usize>(index: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    index.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn skip(index: &mut impl BufRead, count: usize) -> io::Result<()> {
    let skipped = io::copy(&mut index.take(count as u64), &mut io::sink())?;
    if skipped == count as u64 {
        Ok(())
    } else {
        Err(unrecognized())
    }
}

/// Opens a regular file. Without NONBLOCK, a pipe in its place would block the thread for ever.
fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(unrecognized())
    }
}

fn unrecognized() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "git's index is not understood")
}

#[cfg(test)]
mod tests {
    use super::GitStatus::{Busy, Tracked, Untracked};
    use super::*;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(done.status.success(), "git {args:?}: {done:?}");
    }

    fn write(dir: &Path, name: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "completed x\n").unwrap();
    }

    #[test]
    fn only_files_in_an_index_are_tracked_in_any_version() {
        for (version, format) in [("2", "sha1"), ("3", "sha1"), ("4", "sha1"), ("4", "sha256")] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path();
            git(top, &["init", "-q", &format!("--object-format={format}")]);
            // Without an index.
            assert_eq!(git_status(top, "w1").unwrap(), Untracked);
            for file in "+a .git-blame .hub/status/a .hub/status/w1 src/lib.rs".split(' ') {
                write(top, file);
            }
            git(top, &["add", "."]);
            if version == "3" {
                write(top, ".hub/later");
                // Only an extended flag makes git write version 3.
                git(top, &["add", "-N", ".hub/later"]);
            }
            git(top, &["update-index", "--index-version", version]);
            let found = |name| git_status(top, name).unwrap();
            assert_eq!(found("w1"), Tracked, "{version} {format}");
            assert_eq!(found("W1"), Tracked, "{version} {format}");
            assert_eq!(found("w"), Untracked, "{version} {format}");
            assert_eq!(found("w2"), Untracked, "{version} {format}");
        }
    }

    #[test]
    fn a_linked_worktree_has_its_own_index_and_a_split_index_is_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("main");
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "-q"]);
        write(&main, ".hub/status/w1");
        git(&main, &["add", "."]);
        git(&main, &["commit", "-q", "-m", "one"]);
        git(&main, &["worktree", "add", "-q", "../side"]);
        let side = dir.path().join("side");
        assert_eq!(git_status(&side, "w1").unwrap(), Tracked);
        git(&side, &["update-index", "--split-index"]);
        write(&side, ".hub/status/w2");
        git(&side, &["add", "."]);
        for name in ["w1", "w2"] {
            assert_eq!(git_status(&side, name).unwrap(), Tracked, "{name}");
        }
        git(&main, &["rm", "-q", "--cached", ".hub/status/w1"]);
        assert_eq!(git_status(&main, "w1").unwrap(), Untracked);
    }

    #[test]
    fn a_file_is_not_judged_while_git_holds_the_index_lock() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q"]);
        fs::write(dir.path().join(".git/index.lock"), "").unwrap();
        assert_eq!(git_status(dir.path(), "w1").unwrap(), Busy);
    }

    #[test]
    fn a_nested_repository_and_a_broken_index_make_no_file_trusted() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q"]);
        fs::write(dir.path().join(".git/index"), "DIRC\0\0\0\x02\0\0\0\x01").unwrap();
        assert!(git_status(dir.path(), "w1").is_err());
        fs::create_dir_all(dir.path().join(".hub/.git")).unwrap();
        assert_eq!(git_status(dir.path(), "w1").unwrap(), Tracked);
    }
}
