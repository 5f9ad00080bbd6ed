//! A settings file, replaced as a whole or not at all.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

/// A file of an agent's, as it was read.
#[derive(Debug)]
pub(super) struct SettingsFile {
    /// As the agent names it.
    pub(super) path: PathBuf,
    /// Where it is, behind any links: that is what is replaced, and the links stay.
    real: PathBuf,
    /// What it held; nothing where there is none.
    pub(super) before: Option<String>,
    /// Its mode.
    mode: Option<u32>,
}

impl SettingsFile {
    /// Reads the file at `path`, which need not exist.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let file = |real: &Path, before, mode| Self {
            path: path.to_owned(),
            real: real.to_owned(),
            before,
            mode,
        };
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dangling = fs::symlink_metadata(path).is_ok();
                ensure!(!dangling, "{} is a link to nothing", path.display());
                return Ok(file(path, None, None));
            }
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let meta = fs::metadata(&real)?;
        ensure!(meta.is_file(), "{} is not a file", path.display());
        let text = fs::read_to_string(&real).with_context(|| path.display().to_string())?;
        Ok(file(
            &real,
            Some(text),
            Some(meta.permissions().mode() & 0o7777),
        ))
    }

    /// Replaces the content, and keeps the one before beside it.
    pub(super) fn replace(&self, text: &str) -> anyhow::Result<()> {
        self.make_sure_it_is_unchanged()?;
        if let Some(before) = &self.before {
            write(&self.backup(), before, self.mode)?;
        } else if let Some(dir) = self.real.parent() {
            DirBuilder::new().recursive(true).create(dir)?;
        }
        write(&self.real, text, self.mode)
    }

    /// Removes the file.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        self.make_sure_it_is_unchanged()?;
        fs::remove_file(&self.real).with_context(|| self.real.display().to_string())
    }

    /// The file that keeps the content before the last change.
    pub(super) fn backup(&self) -> PathBuf {
        let mut name = self.real.file_name().unwrap_or_default().to_owned();
        name.push(".hub-backup");
        self.real.with_file_name(name)
    }

    /// Agents save their settings at any time.
    fn make_sure_it_is_unchanged(&self) -> anyhow::Result<()> {
        let now = match fs::read_to_string(&self.real) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| self.real.display().to_string()),
        };
        if now != self.before {
            bail!(
                "{} was changed meanwhile: run it again",
                self.path.display()
            );
        }
        Ok(())
    }
}

/// Replaces `path` at once; a new file gets the mode that the umask leaves.
fn write(path: &Path, text: &str, mode: Option<u32>) -> anyhow::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let draft = path.with_file_name(name);
    let written = write_draft(&draft, text, mode).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.with_context(|| path.display().to_string())
}

fn write_draft(draft: &Path, text: &str, mode: Option<u32>) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(if mode.is_some() { 0o600 } else { 0o666 })
        .open(draft)?;
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
    fn a_file_keeps_its_mode_and_the_content_before_is_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        SettingsFile::read(&path).unwrap().replace("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        let backup = dir.path().join("settings.json.hub-backup");
        assert_eq!(fs::read_to_string(&backup).unwrap(), "old");
        for file in [&path, &backup] {
            assert_eq!(
                fs::metadata(file).unwrap().permissions().mode() & 0o777,
                0o640
            );
        }
        assert_eq!(
            names(dir.path()),
            ["settings.json", "settings.json.hub-backup"]
        );
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("dotfiles")).unwrap();
        let target = dir.path().join("dotfiles/claude.json");
        fs::write(&target, "old").unwrap();
        let link = dir.path().join("settings.json");
        symlink("dotfiles/claude.json", &link).unwrap();
        SettingsFile::read(&link).unwrap().replace("new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(dir.path()), ["dotfiles", "settings.json"]);
    }

    #[test]
    fn a_link_to_nothing_and_a_directory_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("settings.json");
        symlink("nowhere", &link).unwrap();
        assert!(SettingsFile::read(&link).is_err());
        assert!(SettingsFile::read(dir.path()).is_err());
    }

    #[test]
    fn what_somebody_changed_meanwhile_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/settings.json");
        let read = SettingsFile::read(&path).unwrap();
        read.replace("one").unwrap();
        assert!(read.replace("two").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(names(path.parent().unwrap()), ["settings.json"]);
    }
}
