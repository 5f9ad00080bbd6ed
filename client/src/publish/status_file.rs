//! The status file, in which a session reports its state without a socket.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use hub_protocol::git::{self, Repository};
use hub_protocol::regular_file::text;
use hub_protocol::{InboxName, Kind, Post, StatusLine};
use rustix::fs::OFlags;

use crate::identity::Context;
use crate::system::no_follow::Dir;
use crate::system::private::make_private;

/// The hub's directory at the top of a worktree, as a line of git's exclude file.
const EXCLUDED: &str = ".hub/";

/// The directory of status files in a worktree.
pub(crate) const IN_WORKTREE: &str = ".hub/status";

/// Returns the path of the status file of `session`, and creates its directory. It is in the worktree of the directory
/// `cwd`, where sandboxes let agents write, or else in the state directory.
pub(crate) fn prepare(
    context: &Context,
    cwd: &Path,
    session: &InboxName,
) -> anyhow::Result<PathBuf> {
    if let Some(repository) = Repository::of(cwd, Instant::now() + git::PATIENCE)
        && let Some(top) = &repository.worktree
    {
        // Others may write files in a worktree too, so a link in it may lead anywhere.
        let dir = top.join(IN_WORKTREE);
        Dir::open(top)
            .and_then(|top| top.make(Path::new(IN_WORKTREE), 0o700))
            .with_context(|| dir.display().to_string())?;
        // If git's own files are read-only, the status file shows up as untracked, which is no reason to do without it.
        let _ = exclude(&repository.common_dir);
        return Ok(dir.join(session.as_str()));
    }
    context.settings.demand_state_dir()?;
    let dir = context.settings.state_dir.value.join("status");
    make_private(&dir)?;
    Ok(dir.join(session.as_str()))
}

/// Writes the state in `post` into the status file of its session, and returns its path. `None` if a status line cannot
/// express the post.
pub(crate) fn write_state(context: &Context, post: &Post) -> Option<anyhow::Result<PathBuf>> {
    let session = post.session.as_ref().or(post.from.as_ref())?;
    // A status line has no recipient and answers no notification.
    let elsewhere = post.to.is_some() || post.reply_to.is_some();
    if elsewhere || session.as_str() == InboxName::UNKNOWN {
        return None;
    }
    let line = StatusLine::of(post.kind.unwrap_or(Kind::Complete), &post.msg)?;
    let path =
        given(context, session).map_or_else(|| prepare(context, &context.env.cwd, session), Ok);
    Some(path.and_then(|path| {
        write(&path, &line).with_context(|| path.display().to_string())?;
        Ok(path)
    }))
}

/// The path in `HUB_STATUS_FILE`, if its file name is this session's.
fn given(context: &Context, session: &InboxName) -> Option<PathBuf> {
    let path = context.env.path("HUB_STATUS_FILE")?;
    (path.file_name() == Some(OsStr::new(session.as_str()))).then_some(path)
}

fn write(path: &Path, line: &StatusLine) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let dir = match top_of(parent) {
        Some(top) => Dir::open(top)?.walk(Path::new(IN_WORKTREE))?,
        None => Dir::open(parent)?,
    };
    dir.write(Path::new(name), &format!("{line}\n"))
}

/// The top of the worktree that has `dir` as its directory of status files.
fn top_of(dir: &Path) -> Option<&Path> {
    dir.ends_with(IN_WORKTREE).then(|| dir.ancestors().nth(2))?
}

/// Adds the hub's directory to `info/exclude`, the exclude file that is local to this repository.
fn exclude(common_dir: &Path) -> io::Result<()> {
    let info = Dir::open(common_dir)?.make(Path::new("info"), 0o777)?;
    let name = Path::new("exclude");
    let text = match info.file(name, OFlags::RDONLY, 0) {
        Ok(file) => text(file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    if text.lines().any(|line| line.trim_end() == EXCLUDED) {
        return Ok(());
    }
    let begin = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let mut file = info.file(name, flags, 0o666)?;
    file.write_all(format!("{begin}{EXCLUDED}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_exclusion_is_added_once_and_other_lines_stay() {
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
    fn an_exclude_file_behind_a_link_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::write(elsewhere.join("exclude"), "precious\n").unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.path().join("info")).unwrap();
        assert!(exclude(dir.path()).is_err());
        fs::remove_file(dir.path().join("info")).unwrap();
        fs::create_dir(dir.path().join("info")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("exclude"), dir.path().join("info/exclude"))
            .unwrap();
        assert!(exclude(dir.path()).is_err());
        let text = fs::read_to_string(elsewhere.join("exclude")).unwrap();
        assert_eq!(text, "precious\n");
    }

    #[test]
    fn a_status_file_behind_a_link_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("elsewhere/status")).unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.path().join(".hub")).unwrap();
        let line = StatusLine::of(Kind::Complete, "x").unwrap();
        assert!(write(&dir.path().join(".hub/status/w1"), &line).is_err());
        assert!(!dir.path().join("elsewhere/status/w1").exists());
    }
}
