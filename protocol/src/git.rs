//! Finds the repository of a directory from git's own files, because starting git would cost more than the rest of a
//! command.
//!
//! gitrepository-layout(5) describes these files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::ProjectName;

/// The most bytes that are read of one of git's files.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A repository, as seen from one directory.
#[derive(Debug, PartialEq, Eq)]
pub struct Repository {
    /// The git directory of this worktree.
    pub git_dir: PathBuf,
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    /// The directory of this worktree; `None` inside a git directory.
    pub worktree: Option<PathBuf>,
}

/// The directory that identifies a repository: the same for all of its worktrees.
#[derive(Debug, PartialEq, Eq)]
pub enum Home {
    /// The real path of the main worktree.
    MainWorktree(PathBuf),
    /// The shared git directory of a repository without a main worktree.
    CommonDir(PathBuf),
}

impl Home {
    /// The project that this directory names; `None` if the path is not UTF-8 or is no valid project name.
    pub fn project(&self) -> Option<ProjectName> {
        let (Self::MainWorktree(path) | Self::CommonDir(path)) = self;
        path.to_str()?.parse().ok()
    }
}

impl Repository {
    /// The repository that contains `dir`, if any.
    pub fn discover(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(Self::at)
    }

    fn at(dir: &Path) -> Option<Self> {
        let dot_git = dir.join(".git");
        let candidate = match fs::metadata(&dot_git) {
            Ok(meta) if meta.is_dir() => dot_git,
            Ok(_) => dir.join(read(&dot_git).ok()?.strip_prefix("gitdir:")?.trim()),
            Err(_) => dir.to_owned(),
        };
        let worktree = (candidate != dir).then(|| dir.to_owned());
        Self::of_git_dir(&candidate, worktree)
    }

    fn of_git_dir(dir: &Path, worktree: Option<PathBuf>) -> Option<Self> {
        if !dir.join("HEAD").is_file() {
            return None;
        }
        let git_dir = fs::canonicalize(dir).ok()?;
        let common_dir = match read(&git_dir.join("commondir")) {
            Ok(path) => fs::canonicalize(git_dir.join(path.trim())).ok()?,
            Err(_) => git_dir.clone(),
        };
        let sound = common_dir.join("objects").is_dir() && common_dir.join("refs").is_dir();
        sound.then_some(Self {
            git_dir,
            common_dir,
            worktree,
        })
    }

    /// The directory that identifies this repository. It depends on the shared git directory alone, so every worktree
    /// gets the same one.
    pub fn home(&self) -> Home {
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

    /// The name of this worktree in git; `None` for the main worktree.
    pub fn linked_worktree(&self) -> Option<&str> {
        if self.git_dir == self.common_dir {
            return None;
        }
        self.git_dir.file_name()?.to_str()
    }

    /// The branch that is checked out here; `None` on a detached `HEAD`.
    pub fn branch(&self) -> Option<String> {
        let head = read(&self.git_dir.join("HEAD")).ok()?;
        let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
        Some(branch.to_owned())
    }

    /// The address of the first remote's web page; `None` if that remote is a directory.
    pub fn web_address(&self) -> Option<String> {
        let config = read(&self.common_dir.join("config")).ok()?;
        let mut found = None;
        each_setting(&config, |section, name, value| {
            if section.starts_with("remote ") && name == "url" {
                found = found.take().or_else(|| web_address(value));
            }
        });
        found
    }

    /// The repository's own configuration files that git reads in this worktree.
    pub fn config_files(&self) -> [PathBuf; 2] {
        [
            self.common_dir.join("config"),
            self.git_dir.join("config.worktree"),
        ]
    }
}

/// The `[core]` settings that locate the main worktree.
#[derive(Debug, Default)]
struct Core {
    bare: bool,
    worktree: Option<String>,
}

impl Core {
    fn read(common_dir: &Path) -> Self {
        let mut core = Self::default();
        for file in ["config", "config.worktree"] {
            if let Ok(text) = read(&common_dir.join(file)) {
                core.take(&text);
            }
        }
        core
    }

    fn take(&mut self, config: &str) {
        each_setting(config, |section, name, value| match (section, name) {
            ("core", "bare") => self.bare = matches!(value, "true" | "yes" | "on" | "1"),
            ("core", "worktree") => self.worktree = Some(value.into()),
            _ => {}
        });
    }
}

/// The web page of a remote: `git@host:path.git`, `ssh://host/path` and `https://host/path` all have it at
/// `https://host/path`. A user, a password and the port of ssh are left out.
fn web_address(remote: &str) -> Option<String> {
    let (scheme, rest) = remote.split_once("://").unwrap_or(("scp", remote));
    let (host, path) = match scheme {
        "scp" => rest.split_once(':')?,
        "ssh" | "git" | "http" | "https" => rest.split_once('/')?,
        _ => return None,
    };
    let host = host.rsplit('@').next()?;
    let host = match scheme {
        "http" | "https" => host,
        _ => host.split(':').next()?,
    };
    let path = path.trim_matches('/').trim_end_matches(".git");
    let is_name = |text: &str| text.contains(|c: char| c.is_ascii_alphanumeric());
    let is_plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._~:/".contains(c))
    };
    let is_page = host.contains('.') && is_name(path) && is_plain(host) && is_plain(path);
    is_page.then(|| format!("https://{host}/{path}"))
}

/// Calls `take` with each setting of a configuration file: its section with the subsection, its name, and its value;
/// section and name in lower case. Settings that span lines, or whose value is quoted in part, are not parsed.
pub fn each_setting(config: &str, mut take: impl FnMut(&str, &str, &str)) {
    let mut section = String::new();
    for line in config.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split(']').next().unwrap_or_default();
            section = name.to_ascii_lowercase();
        } else if let Some((name, value)) = line.split_once('=') {
            let value = value.trim().trim_matches('"');
            take(&section, &name.trim().to_ascii_lowercase(), value);
        }
    }
}

/// The configuration files besides a repository's own, in the order in which git reads them: the system's, then the
/// person's. `path` returns an environment variable as a path.
pub fn other_config_files(
    home: Option<&Path>,
    path: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<PathBuf> {
    let mut files = match path("GIT_CONFIG_SYSTEM") {
        Some(system) => vec![system],
        // Only git knows the directory that it was built to read; these are the usual ones.
        None => ["/opt/homebrew/etc", "/usr/local/etc", "/etc"]
            .map(|dir| Path::new(dir).join("gitconfig"))
            .into(),
    };
    if let Some(global) = path("GIT_CONFIG_GLOBAL") {
        files.push(global);
    } else {
        let config = path("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
        files.extend(config.map(|dir| dir.join("git/config")));
        files.extend(home.map(|home| home.join(".gitconfig")));
    }
    files
}

/// The value of `hub.project` in `files`; the last one wins. Files that they include are not read.
pub fn configured_project(files: impl IntoIterator<Item = PathBuf>) -> Option<ProjectName> {
    let mut found = None;
    for text in files.into_iter().filter_map(|file| read(&file).ok()) {
        each_setting(&text, |section, name, value| {
            if (section, name) == ("hub", "project") {
                found = value.parse().ok();
            }
        });
    }
    found
}

/// Reads the regular file at `path` as text and follows links. A pipe or a device is refused, because reading it could
/// block for ever.
pub fn read(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    text(file)
}

/// Reads at most 4 MiB of an open file as text; bytes that are not UTF-8 become U+FFFD.
pub fn text(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
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
    fn a_linked_worktree_has_a_name_and_the_main_one_has_none() {
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
    fn the_web_address_is_that_of_the_first_remote_with_a_page() {
        let place = Place::new();
        place.repository();
        let found = Repository::discover(&place.path("main")).unwrap();
        assert_eq!(found.web_address(), None);
        place.git("main", &["remote", "add", "local", "/srv/api.git"]);
        place.git(
            "main",
            &["remote", "add", "origin", "git@example.org:shop/api.git"],
        );
        let address = found.web_address();
        assert_eq!(address.as_deref(), Some("https://example.org/shop/api"));
    }

    #[test]
    fn the_web_page_of_a_remote_contains_no_secret() {
        for remote in [
            "git@git.example.org:shop/api.git",
            "ssh://git@git.example.org:2222/shop/api",
            "https://me:secret@git.example.org/shop/api.git",
        ] {
            let page = web_address(remote);
            assert_eq!(page.as_deref(), Some("https://git.example.org/shop/api"));
        }
        for remote in [
            "/srv/api.git",
            "../api",
            "C:/src/api",
            "file:///srv/api",
            "https://a.b/<i>",
            "",
        ] {
            assert_eq!(web_address(remote), None, "{remote}");
        }
    }

    #[test]
    fn a_repository_reports_the_worktree_and_branch_of_a_directory() {
        let place = Place::new();
        place.repository();
        place.git(
            "main",
            &["worktree", "add", "-q", "-b", "feature/x", "../side"],
        );
        fs::create_dir_all(place.path("side/deep")).unwrap();
        let found = Repository::discover(&place.path("side/deep")).unwrap();
        assert_eq!(found.worktree, Some(place.path("side")));
        assert_eq!(found.branch().as_deref(), Some("feature/x"));
        place.git("side", &["checkout", "-q", "--detach"]);
        assert_eq!(found.branch(), None);
        let inside = Repository::discover(&place.path("main/.git")).unwrap();
        assert_eq!(inside.worktree, None);
    }

    #[test]
    fn a_bare_repository_is_identified_by_its_common_directory() {
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
    fn a_directory_outside_git_has_no_repository() {
        let place = Place::new();
        fs::create_dir(place.path("empty")).unwrap();
        assert_eq!(Repository::discover(&place.path("empty")), None);
    }
}
