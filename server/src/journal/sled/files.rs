//! Where the journal's files lie in the state directory.

use std::fs;
use std::io;
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

    /// A journal that is being made, see [`super::Making`].
    pub fn making(&self) -> PathBuf {
        self.root.join("journal.making")
    }

    /// A journal that was made, on its way into place.
    pub fn made(&self) -> PathBuf {
        self.root.join("journal.made")
    }

    /// Whether nothing of a journal is there.
    pub fn are_missing(&self) -> bool {
        let parts = [self.journal(), self.epoch(), self.made()];
        !parts.iter().any(|path| path.exists())
    }

    /// Whether all that is there of a journal is one that was put aside.
    pub(in crate::journal) fn are_put_aside(&self) -> io::Result<bool> {
        if self.epoch().exists() || self.db().exists() {
            return Ok(false);
        }
        for entry in fs::read_dir(&self.root)? {
            let name = entry?.file_name();
            if name.as_encoded_bytes().starts_with(b"journal.replaced") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The fold's snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }
}
