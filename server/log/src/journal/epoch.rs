//! The epoch file: a record, kept outside of the store, of what the journal must contain. It reveals a store that was
//! emptied, replaced by an older one, or damaged.
//!
//! The file has two slots of 4,096 bytes. Each holds one line: a JSON object, a space, the CRC-32C of the object in
//! hexadecimal. Updates alternate between the slots and write in place. A torn write therefore leaves the other slot
//! intact, and an update needs no free disk space.

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use hub_core::disk::{Disk, DiskFile};
use hub_core::sync;
use hub_protocol::{Epoch, Seq};
use serde::{Deserialize, Serialize};

/// The newest format of the epoch file and of the journal: all entries are in segments, and are copied to the store.
pub const FORMAT: u32 = 3;
/// The format in which entries that are not in the store yet are in a write-ahead log beside it.
pub const WITH_LOG: u32 = 2;
/// The format in which all entries are in the store, and nowhere else.
const STORE_ONLY: u32 = 1;
const SLOT: usize = 4096;

/// The content of the epoch file: what the journal must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The format: [`FORMAT`] or an earlier one.
    pub format: u32,
    /// The number of updates of the file so far; the slot with the higher number is current.
    pub writes: u64,
    /// The journal's identity.
    pub epoch: Epoch,
    /// A durable record that the segments must contain; the store, before format 3.
    pub synced: Seq,
    /// The chain after the record `synced`.
    pub chain: u32,
    /// The first record that the journal must contain.
    pub first: Seq,
    /// The chain before the record `first`.
    pub first_chain: u32,
    /// The size in bytes of the entries from `first` to `synced`.
    pub bytes: u64,
    /// In format 2: the write-ahead log must contain this record or a later one; 0 if it need not contain any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub logged: Seq,
}

impl Anchor {
    /// Returns the anchor of an empty journal whose first record will be `first`.
    pub fn empty(epoch: Epoch, first: Seq, chain: u32) -> Self {
        Self {
            format: STORE_ONLY,
            writes: 0,
            epoch,
            synced: first - 1,
            chain,
            first,
            first_chain: chain,
            bytes: 0,
            logged: 0,
        }
    }

    /// Whether the segments have all entries, so that the store may lack some.
    pub fn has_segments(&self) -> bool {
        self.format >= FORMAT
    }

    fn line(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).expect("an anchor is JSON");
        let mut line = format!("{json} {:08x}\n", crc32c::crc32c(json.as_bytes())).into_bytes();
        line.resize(SLOT, b' ');
        line
    }

    fn parse(slot: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(slot).ok()?.trim_end();
        let (json, crc) = line.rsplit_once(' ')?;
        let sound = u32::from_str_radix(crc, 16).ok()? == crc32c::crc32c(json.as_bytes());
        sound.then(|| serde_json::from_str(json).ok())?
    }
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(seq: &Seq) -> bool {
    *seq == 0
}

/// The open epoch file, and what is noted for its next write.
#[derive(Debug)]
pub struct EpochFile {
    file: Box<dyn DiskFile>,
    last: Mutex<Anchor>,
    /// The last record that the segments must contain, and the chain after it.
    logged: Mutex<(Seq, u32)>,
    earliest: AtomicU64,
    bytes: AtomicU64,
}

impl EpochFile {
    /// Reads the anchor from the file at `path`. Returns `None` if there is no file, and the error `InvalidData` if
    /// no slot is valid. Syncs the file first, because the data of a killed process may be in the page cache only and
    /// the caller relies on it.
    pub fn read(disk: &dyn Disk, path: &Path) -> io::Result<Option<Anchor>> {
        match disk.sync(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            synced => synced?,
        }
        let bytes = disk.read(path)?;
        let newest = bytes
            .chunks(SLOT)
            .filter_map(Anchor::parse)
            .max_by_key(|anchor| anchor.writes);
        let broken = || {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "no slot of the epoch file is sound",
            )
        };
        newest.map(Some).ok_or_else(broken)
    }

    /// Writes a new file durably, replacing any existing one.
    pub fn create(disk: &dyn Disk, path: &Path, anchor: Anchor) -> io::Result<Self> {
        let line = anchor.line();
        disk.replace(path, &[&line, &line])?;
        Self::open(disk, path, anchor)
    }

    /// Opens the existing file, which must contain `anchor`.
    pub fn open(disk: &dyn Disk, path: &Path, anchor: Anchor) -> io::Result<Self> {
        let file = disk.open_in_place(path)?;
        Ok(Self {
            file,
            logged: Mutex::new((anchor.synced, anchor.chain)),
            earliest: AtomicU64::new(anchor.first),
            bytes: AtomicU64::new(anchor.bytes),
            last: Mutex::new(anchor),
        })
    }

    /// Returns the content of the file. Waits while it is written.
    pub fn last(&self) -> Anchor {
        *sync::lock(&self.last)
    }

    /// Returns the number of the first kept record.
    pub fn earliest(&self) -> Seq {
        self.earliest.load(Ordering::Acquire)
    }

    /// Returns the size of the kept records in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the last record that the segments must contain, and the chain after it.
    pub fn logged(&self) -> (Seq, u32) {
        *sync::lock(&self.logged)
    }

    /// Notes the last record in the segments and the chain after it, which [`Self::mark`] writes. `bytes` more are kept.
    pub fn note(&self, end: (Seq, u32), bytes: u64) {
        let mut logged = sync::lock(&self.logged);
        *logged = end;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Durably writes what was noted.
    pub fn mark(&self) -> io::Result<()> {
        let ((synced, chain), bytes) = self.noted();
        self.update(|anchor| {
            if synced >= anchor.synced {
                (anchor.synced, anchor.chain, anchor.bytes) = (synced, chain, bytes);
            }
        })
    }

    /// Durably writes that the segments have all records, up to the last noted one.
    pub fn begin_segments(&self) -> io::Result<()> {
        let ((synced, chain), bytes) = self.noted();
        self.update(|anchor| {
            (anchor.format, anchor.logged) = (FORMAT, 0);
            (anchor.synced, anchor.chain, anchor.bytes) = (synced, chain, bytes);
        })
    }

    /// Durably writes that `first` is the first kept record, with the chain `chain` before it. `bytes` less are kept.
    pub fn begin_at(&self, first: Seq, chain: u32, bytes: u64) -> io::Result<()> {
        self.update(|anchor| {
            (anchor.first, anchor.first_chain) = (first, chain);
            anchor.bytes = anchor.bytes.saturating_sub(bytes);
        })?;
        let less = |kept: u64| Some(kept.saturating_sub(bytes));
        let _ = { &self.bytes }.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.earliest.store(first, Ordering::Release);
        Ok(())
    }

    fn noted(&self) -> ((Seq, u32), u64) {
        let logged = sync::lock(&self.logged);
        (*logged, self.bytes())
    }

    /// Applies `change` to the anchor and writes it durably. Writes nothing if the anchor stays the same.
    fn update(&self, change: impl FnOnce(&mut Anchor)) -> io::Result<()> {
        let mut last = sync::lock(&self.last);
        let mut next = *last;
        change(&mut next);
        if next == *last {
            return Ok(());
        }
        next.writes = last.writes + 1;
        let slot = next.writes % 2 * SLOT as u64;
        self.file.write_all_at(&next.line(), slot)?;
        self.file.sync_data()?;
        *last = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hub_core::disk::OsDisk;

    use super::*;

    fn anchor(synced: Seq) -> Anchor {
        Anchor {
            synced,
            ..Anchor::empty(Epoch(7), 1, 0)
        }
    }

    #[test]
    fn the_newest_anchor_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("epoch");
        let file = EpochFile::create(&OsDisk, &path, anchor(1)).unwrap();
        for synced in 2..6 {
            file.update(|anchor| anchor.synced = synced).unwrap();
        }
        assert_eq!(EpochFile::read(&OsDisk, &path).unwrap(), Some(file.last()));
    }

    #[test]
    fn a_torn_write_leaves_the_previous_anchor() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("epoch");
        let file = EpochFile::create(&OsDisk, &path, anchor(1)).unwrap();
        file.update(|anchor| anchor.synced = 2).unwrap();
        let torn = fs::OpenOptions::new().write(true).open(&path).unwrap();
        torn.write_all_at(b"{torn", SLOT as u64).unwrap();
        assert_eq!(EpochFile::read(&OsDisk, &path).unwrap().unwrap().synced, 1);
    }

    #[test]
    fn a_file_without_a_valid_slot_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("epoch");
        fs::write(&path, b"").unwrap();
        let error = EpochFile::read(&OsDisk, &path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
