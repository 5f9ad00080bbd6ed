//! The paths of the journal's files in the state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hub_core::disk::{Disk, OsDisk};

/// The paths of a journal's files in its state directory.
#[derive(Debug, Clone)]
pub struct Files {
    /// The state directory.
    pub root: PathBuf,
    /// The disk of the log, the epoch file and the snapshots. sled has its files on the system's.
    pub disk: Arc<dyn Disk>,
}

impl Files {
    /// Returns the paths for the state directory `root`; reads nothing.
    pub fn new(root: &Path) -> Self {
        Self::on(Arc::new(OsDisk), root)
    }

    /// The same on another disk.
    pub fn on(disk: Arc<dyn Disk>, root: &Path) -> Self {
        let root = root.to_owned();
        Self { root, disk }
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

    /// The directory of the segments: files with all records.
    pub fn segments(&self) -> PathBuf {
        self.root.join("segments")
    }

    /// sled's directory that was moved away, until a new one has all of its records.
    pub fn damaged(&self) -> PathBuf {
        self.root.join("journal.damaged")
    }

    /// The write-ahead log of formats 1 and 2: commits that are not in sled yet.
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

    /// A file that exists after a failed write: the next start makes sled's directory anew.
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
        let parts = [self.journal(), self.segments(), self.epoch(), self.staged()];
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
