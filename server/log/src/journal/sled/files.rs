//! The paths of the journal's files in the state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The paths of a journal's files in its state directory.
#[derive(Debug, Clone)]
pub struct Files {
    /// The state directory.
    pub root: PathBuf,
}

impl Files {
    /// Returns the paths for the state directory `root`; reads nothing.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// sled's directory.
    pub fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    /// sled's data file, in [`Self::journal`].
    pub fn db(&self) -> PathBuf {
        self.journal().join("db")
    }

    /// sled's settings file, in [`Self::journal`].
    pub fn settings(&self) -> PathBuf {
        self.journal().join("conf")
    }

    /// The write-ahead log: commits that are not in sled yet.
    pub fn wal(&self) -> PathBuf {
        self.root.join("wal")
    }

    /// The epoch file, see [`crate::journal::epoch`].
    pub fn epoch(&self) -> PathBuf {
        self.root.join("epoch")
    }

    /// The reserve: a file whose space is released when the disk is full.
    pub fn reserve(&self) -> PathBuf {
        self.root.join("reserve")
    }

    /// The lock file, held by the process that uses the journal.
    pub fn lock(&self) -> PathBuf {
        self.root.join("journal.lock")
    }

    /// A file that exists after a failed write or a lost record: the next start copies the journal.
    pub fn suspect(&self) -> PathBuf {
        self.root.join("suspect")
    }

    /// The directory of a journal under construction, see [`super::StagedJournal`].
    pub fn staging(&self) -> PathBuf {
        self.root.join("journal.making")
    }

    /// The directory of a complete new journal whose files are not all in place yet.
    pub fn staged(&self) -> PathBuf {
        self.root.join("journal.made")
    }

    /// Whether the state directory contains no journal.
    pub fn are_missing(&self) -> bool {
        let parts = [self.journal(), self.epoch(), self.staged()];
        !parts.iter().any(|path| path.exists())
    }

    /// Whether the state directory contains no journal but one that was replaced.
    pub(crate) fn are_only_replaced(&self) -> io::Result<bool> {
        Ok(!self.epoch().exists() && !self.db().exists() && !self.replaced()?.is_empty())
    }

    /// Returns the paths of journals that another one replaced.
    pub fn replaced(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b"journal.replaced") {
                found.push(entry.path());
            }
        }
        Ok(found)
    }

    /// The directory of the fold's snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }
}
