//! The epoch file: what a journal must contain, kept outside of it, so that an emptied, older or broken store is told
//! from a sound one.
//!
//! Two slots of 4,096 bytes, each one line: a JSON object, a space, the CRC-32C of the object in hexadecimal. They are
//! written in turn and in place, so a torn write leaves the other, and a full disk does not matter.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use hub_protocol::{Epoch, Seq};
use serde::{Deserialize, Serialize};

use super::durable;

/// The newest format of the epoch file and of what it describes: what the store does not hold yet is in a write-ahead
/// log beside it.
pub const FORMAT: u32 = 2;
/// The format in which everything is in the store.
const WITHOUT_LOG: u32 = 1;
const SLOT: usize = 4096;

/// What a journal must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// [`FORMAT`], or one before.
    pub format: u32,
    /// Rises with every write of the file.
    pub writes: u64,
    /// The journal's identity.
    pub epoch: Epoch,
    /// A record that is durable: it must be there.
    pub synced: Seq,
    /// The chain after that record.
    pub chain: u32,
    /// The first record that must be there.
    pub first: Seq,
    /// The chain before it.
    pub first_chain: u32,
    /// Bytes of the entries from `first` to `synced`.
    pub bytes: u64,
}

impl Anchor {
    /// Of an empty journal whose first record will be `first`.
    pub fn empty(epoch: Epoch, first: Seq, chain: u32) -> Self {
        Self {
            format: WITHOUT_LOG,
            writes: 0,
            epoch,
            synced: first - 1,
            chain,
            first,
            first_chain: chain,
            bytes: 0,
        }
    }

    /// Whether there must be a write-ahead log.
    pub fn has_log(&self) -> bool {
        self.format > WITHOUT_LOG
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

/// The open file.
#[derive(Debug)]
pub struct EpochFile {
    file: File,
    last: Mutex<Anchor>,
}

impl EpochFile {
    /// What the file at `path` says; `None` where there is no file, `InvalidData` where no slot is sound. It is made
    /// durable first: what a killed process wrote may be in the page cache only, and whoever reads it relies on it.
    pub fn read(path: &Path) -> io::Result<Option<Anchor>> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        file.sync_data()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
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

    /// Writes a new file, durably, in place of any before.
    pub fn create(path: &Path, anchor: Anchor) -> io::Result<Self> {
        let line = anchor.line();
        durable::replace(path, &[&line, &line])?;
        Self::open(path, anchor)
    }

    /// Opens the file that says `anchor`.
    pub fn open(path: &Path, anchor: Anchor) -> io::Result<Self> {
        let file = durable::open_in_place(path)?;
        Ok(Self {
            file,
            last: Mutex::new(anchor),
        })
    }

    /// What the file says.
    pub fn last(&self) -> Anchor {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what it says, durably.
    pub fn update(&self, change: impl FnOnce(&mut Anchor)) -> io::Result<()> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
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

    use super::*;

    fn anchor(synced: Seq) -> Anchor {
        Anchor {
            synced,
            ..Anchor::empty(Epoch(7), 1, 0)
        }
    }

    #[test]
    fn what_was_written_last_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("epoch");
        let file = EpochFile::create(&path, anchor(1)).unwrap();
        for synced in 2..6 {
            file.update(|anchor| anchor.synced = synced).unwrap();
        }
        assert_eq!(EpochFile::read(&path).unwrap(), Some(file.last()));
    }

    #[test]
    fn a_torn_write_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("epoch");
        let file = EpochFile::create(&path, anchor(1)).unwrap();
        file.update(|anchor| anchor.synced = 2).unwrap();
        let torn = fs::OpenOptions::new().write(true).open(&path).unwrap();
        torn.write_all_at(b"{torn", SLOT as u64).unwrap();
        assert_eq!(EpochFile::read(&path).unwrap().unwrap().synced, 1);
    }

    #[test]
    fn a_file_without_a_sound_slot_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("epoch");
        fs::write(&path, b"").unwrap();
        assert_eq!(
            EpochFile::read(&path).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
}
