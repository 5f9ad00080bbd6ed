//! Journals and their content, and a disk with bad sectors, for the tests of journals.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use hub_core::disk::{Disk, DiskFile, FileId, OsDisk};
use hub_core::record::kinds;
use hub_core::sync;
use hub_protocol::Seq;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Entry, Journal};

/// Returns entries with payloads of these sizes, numbered from `first`.
pub(super) fn entries(first: Seq, sizes: &[usize]) -> Vec<Entry> {
    let numbered = sizes.iter().zip(first..);
    let entry = |(size, seq): (&usize, Seq)| Entry {
        seq,
        kind: kinds::NOTIFIED,
        payload: vec![u8::try_from(seq % 251).unwrap(); *size].into(),
    };
    numbered.map(entry).collect()
}

/// Appends one commit of entries with payloads of these sizes.
pub(super) fn append(journal: &dyn Journal, sizes: &[usize]) -> Vec<Entry> {
    let entries = entries(journal.head() + 1, sizes);
    journal.append(&entries).unwrap();
    entries
}

/// Appends these commits and returns all of their entries.
pub(super) fn append_all(journal: &dyn Journal, commits: &[Vec<usize>]) -> Vec<Entry> {
    let commits = commits.iter().map(|sizes| append(journal, sizes));
    commits.collect::<Vec<_>>().concat()
}

/// Reads the whole journal.
pub(super) fn all(journal: &dyn Journal) -> Vec<Entry> {
    let (mut found, mut at) = (Vec::new(), journal.earliest());
    while at <= journal.head() {
        found.extend(journal.read(at, 10_000).unwrap());
        at = found.last().unwrap().seq + 1;
    }
    found
}

/// Returns the payload sizes of up to `commits` commits: small ones, those of a block, and larger ones.
pub(super) fn sizes(largest: usize, commits: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let size = prop_oneof![4 => 1..400_usize, 2 => 400..4200_usize, 1 => 4200..largest];
    vec(vec(size, 1..6), 1..commits)
}

/// Checks that a reader with any cursor gets the next of the `stored` entries, and never nothing.
pub(super) fn is_readable_from_every_cursor(journal: &dyn Journal, stored: &[Entry], max: usize) {
    for from in 1..=journal.head() {
        let found = journal.read(from, max).unwrap();
        let rest = &stored[usize::try_from(from).unwrap() - 1..];
        assert!(!found.is_empty());
        assert_eq!(found, rest[..found.len()]);
    }
}

/// The system's disk, of which some bytes cannot be read until their file is written anew, and which may be nearly full or fail
/// to sync names.
#[derive(Debug, Default)]
pub(super) struct BadDisk {
    unreadable: Mutex<Vec<(PathBuf, Range<u64>)>>,
    /// After how many failed reads all can be read again.
    pub(super) failures: Mutex<Option<u32>>,
    pub(super) free: Mutex<Option<u64>>,
    pub(super) fails_to_sync: AtomicBool,
}

impl BadDisk {
    /// Makes these bytes of the file unreadable.
    pub(super) fn damage(&self, path: &Path, bytes: Range<u64>) {
        sync::lock(&self.unreadable).push((path.to_owned(), bytes));
    }

    fn check(&self, path: &Path, bytes: &Range<u64>) -> io::Result<()> {
        let overlaps = |bad: &Range<u64>| bad.start < bytes.end && bytes.start < bad.end;
        let bad = sync::lock(&self.unreadable);
        if !bad.iter().any(|(it, bad)| it == path && overlaps(bad)) {
            return Ok(());
        }
        if let Some(left) = &mut *sync::lock(&self.failures) {
            if *left == 0 {
                return Ok(());
            }
            *left -= 1;
        }
        Err(rustix::io::Errno::IO.into())
    }
}

impl Disk for BadDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.check(path, &(0..u64::MAX))?;
        OsDisk.read(path)
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.check(path, &(offset..offset + length as u64))?;
        OsDisk.read_at(path, offset, length)
    }

    fn size(&self, path: &Path) -> io::Result<u64> {
        OsDisk.size(path)
    }

    fn free(&self, dir: &Path) -> u64 {
        sync::lock(&self.free).unwrap_or_else(|| OsDisk.free(dir))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        OsDisk.create(path)
    }

    fn open_in_place(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        OsDisk.open_in_place(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        sync::lock(&self.unreadable).retain(|(path, _)| path != to);
        OsDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove(path)
    }

    fn is_there(&self, path: &Path) -> io::Result<bool> {
        OsDisk.is_there(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        OsDisk.list(dir)
    }

    fn private_dir(&self, dir: &Path) -> io::Result<()> {
        OsDisk.private_dir(dir)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        if self.fails_to_sync.load(Ordering::Relaxed) {
            return Err(rustix::io::Errno::IO.into());
        }
        OsDisk.sync(path)
    }

    fn open_dir(&self, dir: &Path) -> io::Result<Box<dyn DiskFile>> {
        OsDisk.open_dir(dir)
    }

    fn identify(&self, path: &Path) -> io::Result<FileId> {
        OsDisk.identify(path)
    }
}
