//! A settings file, which is replaced atomically.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use rustix::fs::OFlags;

use crate::system::no_follow::Dir;

/// A settings file of an agent, as it was read.
#[derive(Debug)]
pub(super) struct SettingsFile {
    /// The path as the agent names it.
    pub(super) path: PathBuf,
    /// The trusted directory.
    top: PathBuf,
    /// The file's directory below `top`; links are not followed in it.
    below: PathBuf,
    name: OsString,
    /// The content; `None` if there is no file.
    pub(super) before: Option<String>,
    /// The permissions; `None` if there is no file.
    mode: Option<u32>,
}

impl SettingsFile {
    /// Reads the file at `path`, which need not exist. If it is a link, the link stays and its target will be replaced.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dangling = fs::symlink_metadata(path).is_ok();
                ensure!(!dangling, "{} is a dangling link", path.display());
                path.to_owned()
            }
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let top = real.parent().unwrap_or(Path::new("/"));
        Self::found(path, top, PathBuf::new(), real.file_name())
    }

    /// Reads the file at `path` in the workspace `top`. Links below `top` are not followed, because others may have
    /// made them.
    pub(super) fn read_within(top: &Path, path: &Path) -> anyhow::Result<Self> {
        let below = path.strip_prefix(top).ok().and_then(Path::parent);
        let below = below.with_context(|| format!("{} is not in the workspace", path.display()))?;
        Self::found(path, top, below.to_owned(), path.file_name())
    }

    fn found(
        path: &Path,
        top: &Path,
        below: PathBuf,
        name: Option<&OsStr>,
    ) -> anyhow::Result<Self> {
        let mut file = Self {
            path: path.to_owned(),
            top: top.to_owned(),
            below,
            name: name.unwrap_or_default().to_owned(),
            before: None,
            mode: None,
        };
        if let Some((text, mode)) = file.open().with_context(|| path.display().to_string())? {
            (file.before, file.mode) = (Some(text), Some(mode));
        }
        Ok(file)
    }

    /// Opens the file, and returns its content and permissions, or `None` if it does not exist.
    fn open(&self) -> io::Result<Option<(String, u32)>> {
        let found = Dir::open(&self.top)
            .and_then(|top| top.walk(&self.below))
            .and_then(|dir| dir.file(Path::new(&self.name), OFlags::RDONLY, 0));
        let mut file = match found {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(Some((text, mode)))
    }

    /// Replaces the content, and reads it back for `check`, whose error restores the old content. An error if the file
    /// has changed since it was read.
    pub(super) fn replace(
        &self,
        text: &str,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> anyhow::Result<()> {
        self.make_sure_it_is_unchanged()?;
        DirBuilder::new().recursive(true).create(&self.top)?;
        let dir = Dir::open(&self.top)?.make(&self.below, 0o777)?;
        let path = || self.path.display().to_string();
        write(&dir, &self.name, text, self.mode).with_context(path)?;
        let (now, _) = self.open().with_context(path)?.unwrap_or_default();
        let Err(what) = check(&now) else {
            return Ok(());
        };
        ensure!(now == text, "{} {what}: another program changed it", path());
        match &self.before {
            Some(before) => write(&dir, &self.name, before, self.mode),
            None => dir.remove(Path::new(&self.name)),
        }
        .with_context(|| format!("{} {what}, and its old content cannot be restored", path()))?;
        bail!(
            "{} with the change {what}; its old content is restored: please report this",
            path()
        )
    }

    /// Removes the file. An error if it has changed since it was read.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        self.make_sure_it_is_unchanged()?;
        let removed = Dir::open(&self.top)
            .and_then(|top| top.walk(&self.below))
            .and_then(|dir| dir.remove(Path::new(&self.name)));
        removed.with_context(|| self.path.display().to_string())
    }

    /// Returns an error if the file has changed since it was read, because agents may save their settings at any time.
    fn make_sure_it_is_unchanged(&self) -> anyhow::Result<()> {
        let now = self
            .open()
            .with_context(|| self.path.display().to_string())?;
        if now.map(|(text, _)| text) != self.before {
            bail!(
                "{} was changed by another program: run this command again",
                self.path.display()
            );
        }
        Ok(())
    }
}

/// Writes the file at `path` atomically. Its directory is trusted.
pub(super) fn write_at(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let (dir, name) = (path.parent(), path.file_name());
    let written = Dir::open(dir.unwrap_or(Path::new("/")))
        .and_then(|dir| write(&dir, name.unwrap_or_default(), text, Some(mode)));
    written.with_context(|| path.display().to_string())
}

/// Replaces the file `name` in `dir` atomically. Without a `mode`, the umask decides the permissions.
fn write(dir: &Dir, name: &OsStr, text: &str, mode: Option<u32>) -> io::Result<()> {
    let mut draft = name.to_owned();
    draft.push(format!(".{}.tmp", std::process::id()));
    let draft = Path::new(&draft);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let file = dir.file(draft, flags, if mode.is_some() { 0o600 } else { 0o666 })?;
    let written = fill(file, text, mode).and_then(|()| dir.rename(draft, Path::new(name)));
    if written.is_err() {
        let _ = dir.remove(draft);
    }
    written
}

fn fill(mut file: File, text: &str, mode: Option<u32>) -> io::Result<()> {
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn content_that_does_not_parse_when_read_back_is_replaced_by_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let broken = |text: &str| Err(format!("is not {text}"));
        for before in [None, Some("old")] {
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            let file = SettingsFile::read(&path).unwrap();
            let error = file.replace("new", broken).unwrap_err().to_string();
            let said = "is not new; its old content is restored";
            assert!(error.contains(said), "{error}");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
        }
    }

    #[test]
    fn a_file_keeps_its_permissions_and_no_draft_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        SettingsFile::read(&path)
            .unwrap()
            .replace("new", |_| Ok(()))
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(names(dir.path()), ["settings.json"]);
    }

    #[test]
    fn a_link_is_kept_and_its_target_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("dotfiles")).unwrap();
        let target = dir.path().join("dotfiles/claude.json");
        fs::write(&target, "old").unwrap();
        let link = dir.path().join("settings.json");
        symlink("dotfiles/claude.json", &link).unwrap();
        SettingsFile::read(&link)
            .unwrap()
            .replace("new", |_| Ok(()))
            .unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(dir.path()), ["dotfiles", "settings.json"]);
    }

    #[test]
    fn links_in_a_workspace_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("settings.json"), "{}").unwrap();
        let top = dir.path().join("clone");
        fs::create_dir(&top).unwrap();
        let path = top.join(".claude/settings.json");
        symlink(&elsewhere, top.join(".claude")).unwrap();
        assert!(SettingsFile::read_within(&top, &path).is_err());
        fs::remove_file(top.join(".claude")).unwrap();
        fs::create_dir(top.join(".claude")).unwrap();
        symlink(elsewhere.join("settings.json"), &path).unwrap();
        assert!(SettingsFile::read_within(&top, &path).is_err());
        fs::remove_file(&path).unwrap();
        let file = SettingsFile::read_within(&top, &path).unwrap();
        // The link may also appear between reading and replacing.
        symlink(elsewhere.join("other.json"), &path).unwrap();
        assert!(file.replace("x", |_| Ok(())).is_err());
        fs::remove_file(&path).unwrap();
        file.replace("new", |_| Ok(())).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(&elsewhere), ["settings.json"]);
    }

    #[test]
    fn a_dangling_link_and_a_directory_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("settings.json");
        symlink("nowhere", &link).unwrap();
        assert!(SettingsFile::read(&link).is_err());
        assert!(SettingsFile::read(dir.path()).is_err());
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/settings.json");
        let read = SettingsFile::read(&path).unwrap();
        read.replace("one", |_| Ok(())).unwrap();
        assert!(read.replace("two", |_| Ok(())).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(names(path.parent().unwrap()), ["settings.json"]);
    }
}
