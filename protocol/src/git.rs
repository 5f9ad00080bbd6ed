//! What git says about a directory: its repository, the project that this makes, and whether a file is tracked.
//!
//! Only git knows its own files, so git itself is asked, and only here. A question runs no program that a repository names,
//! and the configuration of another user's repository is not believed: such a repository has a place, and nothing else.

mod inquiry;
mod remote;
mod repository;
mod settings;
mod tracked;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use self::inquiry::Silence;
pub use self::repository::Repository;
use self::settings::Settings;
pub use self::tracked::{Tracking, tracking};
use crate::{InvalidName, ProjectName, is_unprintable};

/// How long git may take for a command of a person. On a busy machine processes wait for the processor.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A directory's project and repository, as `GET /directory` tells them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// The project.
    pub project: ProjectName,
    /// The rule that gave the project.
    pub source: ProjectSource,
    /// Whether it is in the main worktree; absent outside of a worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main: Option<bool>,
    /// The name of its linked worktree in git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The branch that is checked out there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The address of the repository's web page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// The rule that gave a directory its project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectSource {
    /// `hub.project` in git's configuration.
    Configured,
    /// The main worktree of the repository.
    MainWorktree,
    /// The shared git directory of a repository without a main worktree.
    CommonDir,
    /// The directory is gone: the project of the session that ran there.
    Session,
    /// No repository.
    Default,
}

impl ProjectSource {
    /// The rule in words for a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configured => "git config hub.project",
            Self::MainWorktree => "main worktree",
            Self::CommonDir => "common git directory",
            Self::Session => "session of a directory that is gone",
            Self::Default => "default",
        }
    }
}

/// Git's answers about a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// The repository that contains it.
    pub repository: Option<Repository>,
    settings: Settings,
    /// The directory that identifies the repository.
    home: Option<Home>,
}

/// The directory that identifies a repository: the same for all of its worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    /// The real path of the main worktree.
    MainWorktree(PathBuf),
    /// The shared git directory of a repository without a main worktree.
    CommonDir(PathBuf),
}

impl Answers {
    /// Asks git about `dir`.
    pub fn about(dir: &Path, until: Instant) -> Result<Self, Silence> {
        // Both work at the same time.
        let (repository, settings) = (Repository::ask(dir)?, Settings::ask(dir)?);
        // Each is waited for or killed, whatever the other says.
        let (repository, settings) = (repository.answer(until), settings.answer(until));
        let repository = Repository::read(dir, &repository?, until)?;
        let settings = Settings::read(&settings?)?;
        let home = match &repository {
            Some(repository) => Some(home(repository, &settings, until)?),
            None => None,
        };
        Ok(Self {
            repository,
            settings,
            home,
        })
    }

    /// The directory that identifies the repository.
    pub fn home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    /// The project, and the rule that gave it. An error if `hub.project` is no valid project.
    pub fn project(&self) -> Result<(ProjectName, ProjectSource), InvalidName> {
        let configured = self.settings.last("hub.project").unwrap_or_default();
        if !configured.is_empty() {
            return Ok((configured.parse()?, ProjectSource::Configured));
        }
        Ok(self.place())
    }

    /// The project by the repository's place alone.
    fn place(&self) -> (ProjectName, ProjectSource) {
        let (path, source) = match &self.home {
            Some(Home::MainWorktree(path)) => (path, ProjectSource::MainWorktree),
            Some(Home::CommonDir(path)) => (path, ProjectSource::CommonDir),
            None => return (ProjectName::default(), ProjectSource::Default),
        };
        match project_at(path) {
            Some(project) => (project, source),
            None => (ProjectName::default(), ProjectSource::Default),
        }
    }

    /// The answers for a client. A `hub.project` that is no valid project is an error.
    pub fn directory(&self) -> Result<Directory, InvalidName> {
        Ok(self.with(self.project()?))
    }

    /// The answers for a hook, which has nobody to tell that `hub.project` is no valid project.
    pub fn directory_anyway(&self) -> Directory {
        self.with(self.project().unwrap_or_else(|_| self.place()))
    }

    fn with(&self, (project, source): (ProjectName, ProjectSource)) -> Directory {
        let repository = self.repository.as_ref();
        let in_worktree = repository.filter(|it| it.worktree.is_some());
        let linked = repository.and_then(Repository::linked_worktree);
        Directory {
            project,
            source,
            main: in_worktree.map(|_| linked.is_none()),
            worktree: linked.map(str::to_owned),
            branch: repository.and_then(|it| it.branch.clone()),
            repository: repository.and_then(|_| self.settings.web_address()),
        }
    }

    /// The files whose change may change the answers, except for repositories between the directory and its worktree.
    pub fn sources(&self) -> Vec<PathBuf> {
        let mut files = self.settings.files().to_vec();
        if let Some(repository) = &self.repository {
            let own = [
                "HEAD",
                "reftable/tables.list",
                "config.worktree",
                "commondir",
            ];
            files.extend(own.map(|name| repository.git_dir.join(name)));
            let common = ["config", "config.worktree"];
            files.extend(common.map(|name| repository.common_dir.join(name)));
        }
        files
    }
}

/// The directory of a project without a repository, or of one about which git says nothing.
impl Default for Directory {
    fn default() -> Self {
        Self {
            project: ProjectName::default(),
            source: ProjectSource::Default,
            main: None,
            worktree: None,
            branch: None,
            repository: None,
        }
    }
}

/// The directory that identifies a repository. It depends on the shared git directory alone, so every worktree gets the same
/// one.
fn home(repository: &Repository, here: &Settings, until: Instant) -> Result<Home, Silence> {
    let common = &repository.common_dir;
    let is_linked = repository.git_dir != *common;
    // A linked worktree then has settings of its own in place of the main worktree's.
    let main = if is_linked && here.is_true("extensions.worktreeconfig") {
        Some(Settings::read(&Settings::ask(common)?.answer(until)?)?)
    } else {
        None
    };
    let settings = main.as_ref().unwrap_or(here);
    let is_bare = repository.bare || settings.is_true("core.bare");
    let worktree = match settings.last("core.worktree") {
        Some(path) => fs::canonicalize(common.join(path)).ok(),
        None if !is_linked && repository.worktree.is_some() => repository.worktree.clone(),
        None if is_bare || !common.ends_with(".git") => None,
        None => common.parent().map(Path::to_owned),
    };
    Ok(worktree.map_or_else(|| Home::CommonDir(common.clone()), Home::MainWorktree))
}

/// The project of a repository at `path`. A path that is no valid name is written as in a URL after a second slash, which no
/// real path has, so that it is no other repository's name. `None` if it is too long.
fn project_at(path: &Path) -> Option<ProjectName> {
    if let Some(project) = path.to_str().and_then(|path| path.parse().ok()) {
        return Some(project);
    }
    let mut name = String::from("/");
    for part in path.as_os_str().as_bytes().utf8_chunks() {
        for c in part.valid().chars() {
            if c == '%' || is_unprintable(c) {
                let mut utf8 = [0; 4];
                escape(&mut name, c.encode_utf8(&mut utf8).as_bytes());
            } else {
                name.push(c);
            }
        }
        escape(&mut name, part.invalid());
    }
    name.parse().ok()
}

fn escape(name: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(name, "%{byte:02X}");
    }
}

#[cfg(test)]
mod tests;
