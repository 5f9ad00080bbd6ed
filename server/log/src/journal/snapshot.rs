//! Snapshots of the fold: files beside the journal, so that a start reads only the newest records.
//!
//! `snapshots/SEQ.snapshot`, all integers little endian:
//!
//! | offset | bytes | field | meaning |
//! |---|---|---|---|
//! | 0 | 8 | magic | `HUBSNAP\n` |
//! | 8 | 4 | version | 1 |
//! | 12 | 8 | epoch | the journal it belongs to |
//! | 20 | 8 | seq | the last record it contains |
//! | 28 | 8 | length | bytes of the payload |
//! | 36 | 4 | crc | CRC-32C over bytes 0..36 and the payload |
//! | 40 | | payload | JSON |
//!
//! A later version keeps the magic and the checksum where they are, so that a damaged version number is known as damage.
//!
//! The newest two snapshots are kept, so that a damaged one loses no data: retention keeps every record after the
//! older one. Snapshots hold only durable records. While the disk is full, the hub saves none.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{BufMut, Bytes};
use hub_core::disk::{Disk, OsDisk};
use hub_protocol::{Epoch, Seq};

/// The format version that this build writes, and the newest that it reads.
pub const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"HUBSNAP\n";
const HEADER: usize = 40;
const KEPT: usize = 2;
const EXTENSION: &str = "snapshot";

/// Why a snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file differs from the data that was written.
    #[error("the snapshot {0} is broken")]
    Broken(PathBuf),
    /// A newer build wrote the snapshot.
    #[error(
        "the snapshot {path} has format {found}; this version of hubd reads up to {VERSION}: install a newer one"
    )]
    Unsupported {
        /// The snapshot's file.
        path: PathBuf,
        /// The file's format version.
        found: u32,
    },
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A snapshot read from its file.
#[derive(Debug)]
pub struct FoldSnapshot {
    /// The identity of the journal that it belongs to.
    pub epoch: Epoch,
    /// The last record that its fold includes.
    pub seq: Seq,
    /// The fold, as JSON.
    pub payload: Bytes,
}

/// The snapshots of one journal.
#[derive(Debug, Clone)]
pub struct Snapshots {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    epoch: Epoch,
}

impl Snapshots {
    /// Returns the snapshots in `dir` of the journal `epoch`; reads nothing.
    pub fn new(dir: &Path, epoch: Epoch) -> Self {
        Self::on(Arc::new(OsDisk), dir, epoch)
    }

    /// The same on another disk.
    pub fn on(disk: Arc<dyn Disk>, dir: &Path, epoch: Epoch) -> Self {
        let dir = dir.to_owned();
        Self { disk, dir, epoch }
    }

    /// Durably saves `payload` as the fold after record `seq`, and deletes all but the newest two.
    pub fn save(&self, seq: Seq, payload: &[u8]) -> io::Result<()> {
        self.disk.private_dir(&self.dir)?;
        let file = self.dir.join(format!("{seq:020}.{EXTENSION}"));
        let parts = [&header(self.epoch, seq, payload), payload];
        let is_new = !self.disk.is_there(&file)?;
        let put = self.disk.replace(&file, &parts);
        if put.is_err() && is_new {
            // A power cut may take a new name that was not synced, and retention relies on every name that it finds.
            let _ = self.disk.remove(&file);
        }
        put?;
        for (_, old) in list(&*self.disk, &self.dir)?.into_iter().skip(KEPT) {
            self.disk.remove(&old)?;
        }
        self.disk.sync(&self.dir)
    }

    /// Returns the usable snapshots, newest first; reads each when it is asked for. Logs and skips broken and foreign ones; a
    /// newer format is an error. Syncs their names first, because those that a killed process made may be in memory only, and
    /// retention relies on them.
    pub fn usable(
        &self,
    ) -> Result<impl Iterator<Item = Result<FoldSnapshot, SnapshotError>>, SnapshotError> {
        match self.disk.sync(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            synced => synced?,
        }
        let found = list(&*self.disk, &self.dir)?.into_iter();
        Ok(
            found.filter_map(|(_, path)| match read(&*self.disk, &path) {
                Ok(snapshot) if snapshot.epoch == self.epoch => Some(Ok(snapshot)),
                Ok(_) => {
                    let path = path.display();
                    tracing::warn!(%path, "a snapshot of another journal is passed over");
                    None
                }
                Err(error @ SnapshotError::Unsupported { .. }) => Some(Err(error)),
                Err(error) => {
                    tracing::warn!(%error, "a snapshot is passed over");
                    None
                }
            }),
        )
    }

    /// Returns the last record of the newest valid snapshot above `head`, which proves that records above `head` are
    /// lost.
    pub fn above(&self, head: Seq) -> io::Result<Option<Seq>> {
        let named = list(&*self.disk, &self.dir)?
            .into_iter()
            .filter(|(seq, _)| *seq > head);
        let mut sound = named.filter_map(|(_, path)| read(&*self.disk, &path).ok());
        let more = sound.find(|found| found.epoch == self.epoch && found.seq > head);
        Ok(more.map(|found| found.seq))
    }

    /// Returns the last record of the older of the two kept snapshots; `None` if there are fewer than two.
    pub fn oldest_seq(&self) -> io::Result<Option<Seq>> {
        Ok(list(&*self.disk, &self.dir)?
            .get(KEPT - 1)
            .map(|(seq, _)| *seq))
    }
}

/// Whether `dir` contains any snapshot file; an unreadable directory counts as empty.
pub fn exist_in(disk: &dyn Disk, dir: &Path) -> bool {
    list(disk, dir).is_ok_and(|found| !found.is_empty())
}

/// Returns the last record of the newest valid snapshot in `dir`, or 0 if there is none.
pub fn newest_seq(disk: &dyn Disk, dir: &Path) -> Seq {
    let found = list(disk, dir).unwrap_or_default();
    found
        .iter()
        .find_map(|(_, path)| read(disk, path).ok())
        .map_or(0, |snapshot| snapshot.seq)
}

/// Returns the snapshot files in `dir` with the numbers in their names, newest first.
pub fn list(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<(Seq, PathBuf)>> {
    let mut found = Vec::new();
    for path in disk.list(dir)? {
        let named = path
            .extension()
            .is_some_and(|extension| extension == EXTENSION);
        let seq = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        if let (true, Some(seq)) = (named, seq) {
            found.push((seq, path));
        }
    }
    found.sort_unstable_by(|a: &(Seq, PathBuf), b| b.cmp(a));
    Ok(found)
}

/// Reads and verifies the snapshot at `path`.
pub fn read(disk: &dyn Disk, path: &Path) -> Result<FoldSnapshot, SnapshotError> {
    let bytes = disk.read(path)?;
    decode(path, bytes.into())
}

fn header(epoch: Epoch, seq: Seq, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER);
    bytes.put_slice(MAGIC);
    bytes.put_u32_le(VERSION);
    bytes.put_u64_le(epoch.0);
    bytes.put_u64_le(seq);
    bytes.put_u64_le(payload.len() as u64);
    bytes.put_u32_le(crc32c::crc32c_append(crc32c::crc32c(&bytes), payload));
    bytes
}

fn decode(path: &Path, mut bytes: Bytes) -> Result<FoldSnapshot, SnapshotError> {
    use bytes::Buf;
    let broken = || SnapshotError::Broken(path.to_owned());
    if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
        return Err(broken());
    }
    let payload = bytes.split_off(HEADER);
    let mut header = &bytes[..];
    let sum = crc32c::crc32c_append(crc32c::crc32c(&header[..36]), &payload);
    header.advance(MAGIC.len());
    let (version, epoch, seq, length, crc) = (
        header.get_u32_le(),
        header.get_u64_le(),
        header.get_u64_le(),
        header.get_u64_le(),
        header.get_u32_le(),
    );
    if crc != sum {
        return Err(broken());
    }
    if version > VERSION {
        return Err(SnapshotError::Unsupported {
            path: path.to_owned(),
            found: version,
        });
    }
    if length != payload.len() as u64 {
        return Err(broken());
    }
    Ok(FoldSnapshot {
        epoch: Epoch(epoch),
        seq,
        payload,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::journal::testing::BadDisk;

    const EPOCH: Epoch = Epoch(7);

    fn three_in(dir: &Path) -> Snapshots {
        let snapshots = Snapshots::new(dir, EPOCH);
        for seq in [10, 20, 30] {
            let state = format!("state {seq}");
            snapshots.save(seq, state.as_bytes()).unwrap();
        }
        snapshots
    }

    fn newest(snapshots: &Snapshots) -> Result<FoldSnapshot, SnapshotError> {
        snapshots.usable()?.next().expect("a usable one")
    }

    #[test]
    fn the_newest_two_snapshots_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let snapshots = three_in(dir.path());
        let usable = snapshots.usable().unwrap();
        assert!(usable.map(|it| it.unwrap().seq).eq([30, 20]));
    }

    #[test]
    fn a_snapshot_whose_name_was_not_synced_does_not_count() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Arc::new(BadDisk::default()));
        let snapshots = Snapshots::on(disk.clone(), dir.path(), EPOCH);
        for (seq, fails) in [(10, false), (20, false), (30, true)] {
            disk.fails_to_sync.store(fails, Ordering::Relaxed);
            assert_eq!(snapshots.save(seq, b"state").is_err(), fails);
        }
        assert_eq!(snapshots.oldest_seq().unwrap(), Some(10));
    }

    #[test]
    fn a_broken_or_truncated_snapshot_is_skipped() {
        for truncated in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let snapshots = three_in(dir.path());
            let (_, file) = list(&OsDisk, dir.path()).unwrap().remove(0);
            let mut bytes = fs::read(&file).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(file, &bytes[..if truncated { 45 } else { bytes.len() }]).unwrap();
            assert_eq!(newest(&snapshots).unwrap().payload, "state 20");
        }
    }

    #[test]
    fn a_snapshot_of_another_journal_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        three_in(dir.path());
        let other = Snapshots::new(dir.path(), Epoch(8));
        assert_eq!(other.usable().unwrap().count(), 0);
    }

    #[test]
    fn a_newer_format_is_refused_with_its_version() {
        let dir = tempfile::tempdir().unwrap();
        let snapshots = three_in(dir.path());
        let (_, file) = list(&OsDisk, dir.path()).unwrap().remove(0);
        let mut bytes = fs::read(&file).unwrap();
        bytes[8] = 9;
        fs::write(&file, &bytes).unwrap();
        // The same byte after a flipped bit.
        assert_eq!(newest(&snapshots).unwrap().payload, "state 20");
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..36]), &bytes[HEADER..]);
        bytes[36..HEADER].copy_from_slice(&crc.to_le_bytes());
        fs::write(&file, &bytes).unwrap();
        let error = newest(&snapshots).unwrap_err().to_string();
        assert!(error.contains("format 9"), "{error}");
    }
}
