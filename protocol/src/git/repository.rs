//! A repository, as git sees it from a directory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::inquiry::{Inquiry, Reply, Silence, Trust};

/// Parts two paths, each of which may contain any other byte: no path of git has two slashes in a row. Git repeats an option
/// that it does not know.
const BETWEEN: &str = "--//";

/// `HEAD` comes last, because git stops at a branch without a commit.
const QUESTION: [&str; 11] = [
    "rev-parse",
    "--is-inside-work-tree",
    "--is-bare-repository",
    "--show-prefix",
    BETWEEN,
    "--git-dir",
    BETWEEN,
    "--git-common-dir",
    BETWEEN,
    "--symbolic-full-name",
    "HEAD",
];

/// A repository, as seen from one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The git directory of this worktree.
    pub git_dir: PathBuf,
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    /// The directory of this worktree; `None` inside a git directory.
    pub worktree: Option<PathBuf>,
    /// The branch that is checked out here; `None` on a detached `HEAD`.
    pub branch: Option<String>,
    /// Whether git calls it bare from here.
    pub(super) bare: bool,
}

impl Repository {
    /// The repository that contains `dir`; `None` outside of git, or if git gives no answer.
    pub fn of(dir: &Path, until: Instant) -> Option<Self> {
        let answer = Self::ask(dir).ok()?.answer(until).ok()?;
        Self::read(dir, &answer, until).ok()?
    }

    /// Asks for the repository of `dir`.
    pub(super) fn ask(dir: &Path) -> Result<Inquiry, Silence> {
        Inquiry::ask(dir, Trust::All, &QUESTION)
    }

    /// Reads git's answer; `None` outside of git.
    pub(super) fn read(
        dir: &Path,
        answer: &Reply,
        until: Instant,
    ) -> Result<Option<Self>, Silence> {
        if answer.complaint.contains("not a git repository (or any") {
            return Ok(None);
        }
        let mut found = Self::parse(dir, &answer.text).ok_or_else(|| answer.refusal())?;
        if answer.code != Some(0) {
            found.branch = unborn(dir, until);
        }
        Ok(Some(found))
    }

    fn parse(dir: &Path, text: &[u8]) -> Option<Self> {
        let mut fields = text.splitn(3, |byte| *byte == b'\n');
        let (inside, bare) = (fields.next()? == b"true", fields.next()? == b"true");
        let between = format!("\n{BETWEEN}\n");
        let mut parts = Parts(Some(fields.next()?)).by(between.as_bytes());
        let [below, git_dir, common_dir, head] = std::array::from_fn(|_| parts.next());
        let here = fs::canonicalize(dir).ok()?;
        // A relative path starts at the directory in which git was asked.
        let real = |path: &[u8]| fs::canonicalize(here.join(OsStr::from_bytes(path))).ok();
        let depth = below?.split(|byte| *byte == b'/').count() - 1;
        let worktree = here.ancestors().nth(depth).filter(|_| inside);
        let head = head?;
        let head = std::str::from_utf8(head).ok()?.trim_end_matches('\n');
        Some(Self {
            git_dir: real(git_dir?)?,
            common_dir: real(common_dir?)?,
            worktree: worktree.map(Path::to_owned),
            branch: head.strip_prefix("refs/heads/").map(str::to_owned),
            bare,
        })
    }

    /// The name of this worktree in git; `None` for the main worktree.
    pub fn linked_worktree(&self) -> Option<&str> {
        if self.git_dir == self.common_dir {
            return None;
        }
        self.git_dir.file_name()?.to_str()
    }

    /// The directories of all worktrees that git knows, also those that only claim to belong to this repository. One
    /// whose path has a line feed is left out.
    pub fn listed_worktrees(&self, until: Instant) -> Vec<PathBuf> {
        let list = ["worktree", "list", "--porcelain"];
        let answer = Inquiry::ask(&self.common_dir, Trust::All, &list);
        let Ok(answer) = answer.and_then(|it| it.answer(until)) else {
            return Vec::new();
        };
        let lines = answer.text.split(|byte| *byte == b'\n');
        let paths = lines.filter_map(|line| line.strip_prefix(b"worktree "));
        paths.map(|path| OsStr::from_bytes(path).into()).collect()
    }
}

/// The branch of `dir` that has no commit yet.
fn unborn(dir: &Path, until: Instant) -> Option<String> {
    let asked = Inquiry::ask(dir, Trust::All, &["symbolic-ref", "--quiet", "HEAD"]).ok()?;
    let name = String::from_utf8(asked.answer(until).ok()?.text).ok()?;
    Some(name.trim_end().strip_prefix("refs/heads/")?.to_owned())
}

/// The parts of a text between separators of several bytes.
struct Parts<'a>(Option<&'a [u8]>);

impl<'a> Parts<'a> {
    fn by(mut self, separator: &[u8]) -> impl Iterator<Item = &'a [u8]> {
        std::iter::from_fn(move || {
            let text = self.0?;
            let at = text.windows(separator.len()).position(|it| it == separator);
            self.0 = at.map(|at| &text[at + separator.len()..]);
            Some(at.map_or(text, |at| &text[..at]))
        })
    }
}
