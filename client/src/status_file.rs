//! The file in which a session tells its state without a socket.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use hub_protocol::{InboxName, Kind, Post, StatusLine};
use rustix::fs::OFlags;

use crate::git::Repository;
use crate::here::Here;

/// The directory of the hub at the top of a worktree, as git's list of exclusions has it.
const EXCLUDED: &str = ".hub/";

/// The status file of `session`, in a directory that is there: in the worktree of the directory `cwd`, where
/// sandboxes let agents write, else in the state directory.
pub(crate) fn prepare(here: &Here, cwd: &Path, session: &InboxName) -> anyhow::Result<PathBuf> {
    if let Some(repository) = Repository::discover(cwd)
        && let Some(top) = &repository.worktree
    {
        let dir = top.join(EXCLUDED).join("status");
        make_directory(&dir)?;
        // Where git's own files cannot be written, the file shows up as untracked: no reason to have none.
        let _ = exclude(&repository.common_dir);
        return Ok(dir.join(session.as_str()));
    }
    let dir = here.settings.state_dir.value.join("status");
    make_directory(&dir)?;
    Ok(dir.join(session.as_str()))
}

/// Tells what `post` says in the status file of its session, and gives its path; `None` if a line cannot tell it.
pub(crate) fn tell(here: &Here, post: &Post) -> Option<anyhow::Result<PathBuf>> {
    let session = post.session.as_ref().or(post.from.as_ref())?;
    // Whom it is for, and what it answers, is not for a file to say.
    let elsewhere = post.to.is_some() || post.reply_to.is_some();
    if elsewhere || session.as_str() == InboxName::UNKNOWN {
        return None;
    }
    let line = StatusLine::of(post.kind.unwrap_or(Kind::Complete), &post.msg)?;
    let told = given(here, session).map_or_else(|| prepare(here, &here.env.cwd, session), Ok);
    Some(told.and_then(|path| {
        write(&path, &line).with_context(|| path.display().to_string())?;
        Ok(path)
    }))
}

/// `HUB_STATUS_FILE`, if it is the file of this session.
fn given(here: &Here, session: &InboxName) -> Option<PathBuf> {
    let path = here.env.path("HUB_STATUS_FILE")?;
    (path.file_name() == Some(OsStr::new(session.as_str()))).then_some(path)
}

fn write(path: &Path, line: &StatusLine) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

fn make_directory(dir: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .with_context(|| dir.display().to_string())?;
    // A worktree is somebody else's text as well: a link in it may lead anywhere.
    for dir in dir.ancestors().take(2) {
        let real = fs::symlink_metadata(dir)?.is_dir();
        ensure!(real, "{} is no directory", dir.display());
    }
    Ok(())
}

/// Keeps the hub's directory out of `git status`, in the list that is nobody's but this repository's.
fn exclude(common_dir: &Path) -> io::Result<()> {
    let info = common_dir.join("info");
    let path = info.join("exclude");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    if text.lines().any(|line| line.trim_end() == EXCLUDED) {
        return Ok(());
    }
    fs::create_dir_all(&info)?;
    let begin = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
    file.write_all(format!("{begin}{EXCLUDED}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_told_once_and_what_it_excludes_already_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("info/exclude");
        for before in [None, Some("*.log"), Some("*.log\n.hub/\n")] {
            let _ = fs::remove_dir_all(dir.path().join("info"));
            if let Some(text) = before {
                fs::create_dir_all(dir.path().join("info")).unwrap();
                fs::write(&path, text).unwrap();
            }
            exclude(dir.path()).unwrap();
            exclude(dir.path()).unwrap();
            let expected = before.map_or(".hub/\n", |_| "*.log\n.hub/\n");
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        }
    }

    #[test]
    fn a_link_in_the_worktree_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join("status")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.path().join(".hub")).unwrap();
        assert!(make_directory(&dir.path().join(".hub/status")).is_err());
    }
}
