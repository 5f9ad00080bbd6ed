//! Records the settings before hooks were installed, so that uninstalling leaves what was there, and keeps a backup of
//! the content before the last change.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use hub_agents::Agent;

use super::change::without_ours;
use super::file::{SettingsFile, write_at};
use super::status::is_installed;
use crate::system::private::make_private;

/// The receipts and backups of settings files, in the state directory.
#[derive(Debug)]
pub(super) struct Receipts {
    state_dir: PathBuf,
}

impl Receipts {
    /// The receipts and backups in `state_dir`.
    pub(super) fn of(state_dir: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
        }
    }

    /// The path of the backup, which has the content before the last change.
    pub(super) fn backup(&self, file: &SettingsFile) -> PathBuf {
        self.path(file, "backup")
    }

    /// Writes the content of `file`, as it was read, to its backup.
    pub(super) fn back_up(&self, file: &SettingsFile) -> anyhow::Result<()> {
        let Some(before) = &file.before else {
            return Ok(());
        };
        make_private(&self.dir())?;
        write_at(&self.backup(file), before, 0o600)
    }

    /// The text before the install: `Value::Null` if there was no file, `None` if no install recorded it. An earlier
    /// version recorded the settings as an object.
    pub(super) fn before(&self, file: &SettingsFile) -> Option<Value> {
        let text = fs::read_to_string(self.path(file, "json")).ok()?;
        let mut receipt: Value = serde_json::from_str(&text).ok()?;
        Some(receipt.get_mut("before")?.take())
    }

    /// Records the settings before a first install. Installing again keeps the record.
    pub(super) fn note(&self, file: &SettingsFile, agent: Agent) -> Result<(), String> {
        let installed = is_installed(file, agent)?;
        if installed && self.before(file).is_some() {
            return Ok(());
        }
        match without_ours(file, agent, installed)? {
            Some(before) => self
                .write(file, &before)
                .map_err(|error| format!("could not be recorded: {error:#}")),
            None => Ok(()),
        }
    }

    fn write(&self, file: &SettingsFile, before: &Value) -> anyhow::Result<()> {
        make_private(&self.dir())?;
        let receipt = json!({"path": file.path.display().to_string(), "before": before});
        write_at(&self.path(file, "json"), &receipt.to_string(), 0o600)
    }

    /// Removes the record, after our hooks were removed.
    pub(super) fn forget(&self, file: &SettingsFile) -> anyhow::Result<()> {
        match fs::remove_file(self.path(file, "json")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context("the record of the install")
            }
            _ => Ok(()),
        }
    }

    fn dir(&self) -> PathBuf {
        self.state_dir.join("settings")
    }

    /// The path for a file's record or backup: unique by a hash of the file's path, and readable by its name.
    fn path(&self, file: &SettingsFile, extension: &str) -> PathBuf {
        let digest = Sha256::digest(real(&file.path).as_os_str().as_encoded_bytes());
        let [a, b, c, d] = [0, 1, 2, 3].map(|n| digest[n]);
        let own = u32::from_be_bytes([a, b, c, d]);
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        self.dir().join(format!("{name}.{own:08x}.{extension}"))
    }
}

/// Resolves the links in `path`. The result is the same before and after the file exists.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(path);
            // Collecting the components removes the trailing slash that joining an empty path adds.
            return real.join(rest).components().collect();
        }
    }
    path.to_owned()
}
