//! The memory over a restart: the needs that the program must not show again.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use hub_protocol::Epoch;
use serde::{Deserialize, Serialize};

/// The content of `STATE_DIR/desktop.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// The log to which the rest belongs.
    pub epoch: Option<Epoch>,
    /// The tags of the open needs that are not shown, because the person closed them or did not want them.
    pub handled: BTreeSet<String>,
}

/// The file of the memory.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    path: PathBuf,
    written: Memory,
}

impl MemoryFile {
    /// Reads the memory; it is empty if there is none, or none that can be read.
    pub(crate) fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("desktop.json");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let written = serde_json::from_str(&text).unwrap_or_default();
        Self { path, written }
    }

    /// The memory that was written last.
    pub(crate) fn memory(&self) -> &Memory {
        &self.written
    }

    /// Writes the memory if it changed. The file replaces the old one as a whole, so a crash leaves one of both.
    pub(crate) fn write(&mut self, memory: Memory) -> std::io::Result<()> {
        if memory == self.written {
            return Ok(());
        }
        // Counted as written even if that fails, so that it is reported once.
        self.written = memory;
        let fresh = self.path.with_extension("new");
        let _ = fs::remove_file(&fresh);
        let mut file = OpenOptions::new();
        let mut file = file.write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(&serde_json::to_vec(&self.written)?)?;
        fs::rename(fresh, &self.path)
    }
}
