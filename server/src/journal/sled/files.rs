//! Where the journal's files lie in the state directory.

use std::path::{Path, PathBuf};

/// The paths under a state directory.
#[derive(Debug, Clone)]
pub struct Files {
    /// The state directory.
    pub root: PathBuf,
}

impl Files {
    /// Under `root`.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// sled's directory.
    pub fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    /// sled's data file.
    pub fn db(&self) -> PathBuf {
        self.journal().join("db")
    }

    /// sled's settings.
    pub fn settings(&self) -> PathBuf {
        self.journal().join("conf")
    }

    /// Commits on their way to sled.
    pub fn wal(&self) -> PathBuf {
        self.root.join("wal")
    }

    /// What the journal must contain.
    pub fn epoch(&self) -> PathBuf {
        self.root.join("epoch")
    }

    /// Space kept for a full disk.
    pub fn reserve(&self) -> PathBuf {
        self.root.join("reserve")
    }

    /// Locked by the one process that uses the journal.
    pub fn lock(&self) -> PathBuf {
        self.root.join("journal.lock")
    }

    /// There after a failed write: what the page cache shows may not be on the disk.
    pub fn suspect(&self) -> PathBuf {
        self.root.join("suspect")
    }

    /// The fold's snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }
}
