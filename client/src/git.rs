//! Which repository a directory belongs to, read from git's own files: starting git costs more than all the rest.
//!
//! See gitrepository-layout(5) for the files.

use std::fs;
use std::path::{Path, PathBuf};

/// A repository, as seen from one directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// This worktree's own git directory.
    pub git_dir: PathBuf,
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    /// The top of this worktree; none in a bare repository or inside of a git directory.
    pub top: Option<PathBuf>,
}

/// What all worktrees of a repository have in common.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// The main worktree's real path.
    MainWorktree(PathBuf),
    /// The shared git directory of a repository without a main worktree.
    CommonDir(PathBuf),
}

impl Repository {
    /// The repository that holds `dir`, if any.
    pub(crate) fn discover(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(Self::at)
    }

    fn at(dir: &Path) -> Option<Self> {
        let dot_git = dir.join(".git");
        let candidate = match fs::metadata(&dot_git) {
            Ok(meta) if meta.is_dir() => dot_git,
            Ok(_) => dir.join(
                fs::read_to_string(&dot_git)
                    .ok()?
                    .strip_prefix("gitdir:")?
                    .trim(),
            ),
            Err(_) => return Self::of_git_dir(dir),
        };
        Some(Self {
            top: Some(dir.to_owned()),
            ..Self::of_git_dir(&candidate)?
        })
    }

    fn of_git_dir(dir: &Path) -> Option<Self> {
        if !dir.join("HEAD").is_file() {
            return None;
        }
        let git_dir = fs::canonicalize(dir).ok()?;
        let common_dir = match fs::read_to_string(git_dir.join("commondir")) {
            Ok(path) => fs::canonicalize(git_dir.join(path.trim())).ok()?,
            Err(_) => git_dir.clone(),
        };
        let sound = common_dir.join("objects").is_dir() && common_dir.join("refs").is_dir();
        sound.then_some(Self {
            git_dir,
            common_dir,
            top: None,
        })
    }

    /// What all worktrees of this repository have in common: a function of the shared git directory alone, so that
    /// every worktree finds the same.
    pub(crate) fn home(&self) -> Home {
        let core = Core::read(&self.common_dir);
        let worktree = match core.worktree {
            Some(path) => fs::canonicalize(self.common_dir.join(path)).ok(),
            None if core.bare || !self.common_dir.ends_with(".git") => None,
            None => self.common_dir.parent().map(Path::to_owned),
        };
        match worktree {
            Some(path) => Home::MainWorktree(path),
            None => Home::CommonDir(self.common_dir.clone()),
        }
    }

    /// The name that git knows this worktree by, if it is a linked one.
    pub(crate) fn linked_worktree(&self) -> Option<&str> {
        if self.git_dir == self.common_dir {
            return None;
        }
        self.git_dir.file_name()?.to_str()
    }

    /// The configuration files of this repository that git reads here.
    pub(crate) fn config_files(&self) -> [PathBuf; 2] {
        [
            self.common_dir.join("config"),
            self.git_dir.join("config.worktree"),
        ]
    }
}

/// The `[core]` settings that say where the main worktree is.
#[derive(Debug, Default)]
struct Core {
    bare: bool,
    worktree: Option<String>,
}

impl Core {
    fn read(common_dir: &Path) -> Self {
        let mut core = Self::default();
        for file in ["config", "config.worktree"] {
            if let Ok(text) = fs::read_to_string(common_dir.join(file)) {
                core.take(&text);
            }
        }
        core
    }

    fn take(&mut self, config: &str) {
        let mut in_core = false;
        for line in config.lines().map(str::trim) {
            if line.starts_with('[') {
                in_core = line.to_ascii_lowercase().starts_with("[core]");
            } else if in_core && let Some((name, value)) = line.split_once('=') {
                let value = value.trim().trim_matches('"');
                match name.trim().to_ascii_lowercase().as_str() {
                    "bare" => self.bare = matches!(value, "true" | "yes" | "on" | "1"),
                    "worktree" => self.worktree = Some(value.into()),
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            fs::canonicalize(self.0.path()).unwrap().join(name)
        }

        fn git(&self, dir: &str, args: &[&str]) {
            let done = Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
                .args(args)
                .current_dir(self.path(dir))
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            assert!(done.status.success(), "git {args:?}: {done:?}");
        }

        fn repository(&self) {
            self.git("", &["init", "-q", "main"]);
            self.git("main", &["commit", "-q", "--allow-empty", "-m", "one"]);
        }
    }

    #[test]
    fn every_worktree_shares_the_main_worktrees_path() {
        let place = Place::new();
        place.repository();
        place.git("main", &["worktree", "add", "-q", "../side"]);
        fs::create_dir_all(place.path("side/deep/down")).unwrap();
        for dir in ["main", "side", "side/deep/down", "main/.git"] {
            let home = Repository::discover(&place.path(dir)).unwrap().home();
            assert_eq!(home, Home::MainWorktree(place.path("main")), "{dir}");
        }
    }

    #[test]
    fn a_linked_worktree_knows_its_name_and_the_main_one_has_none() {
        let place = Place::new();
        place.repository();
        place.git("main", &["worktree", "add", "-q", "../side"]);
        let name = |dir: &str| {
            let found = Repository::discover(&place.path(dir)).unwrap();
            found.linked_worktree().map(str::to_owned)
        };
        assert_eq!(name("side").as_deref(), Some("side"));
        assert_eq!(name("main"), None);
    }

    #[test]
    fn a_bare_repository_is_known_by_its_common_directory() {
        let place = Place::new();
        place.repository();
        place.git("", &["clone", "-q", "--bare", "main", "bare"]);
        place.git("bare", &["worktree", "add", "-q", "../side"]);
        for dir in ["bare", "side"] {
            let home = Repository::discover(&place.path(dir)).unwrap().home();
            assert_eq!(home, Home::CommonDir(place.path("bare")), "{dir}");
        }
    }

    #[test]
    fn a_submodule_is_its_own_repository() {
        let place = Place::new();
        place.repository();
        place.git("", &["init", "-q", "outer"]);
        let add = [
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            "../main",
            "sub",
        ];
        place.git("outer", &add);
        let home = Repository::discover(&place.path("outer/sub"))
            .unwrap()
            .home();
        assert_eq!(home, Home::MainWorktree(place.path("outer/sub")));
    }

    #[test]
    fn outside_of_git_there_is_no_repository() {
        let place = Place::new();
        fs::create_dir(place.path("empty")).unwrap();
        assert_eq!(Repository::discover(&place.path("empty")), None);
    }
}
