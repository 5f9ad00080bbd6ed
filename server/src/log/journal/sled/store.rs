//! The only code that calls sled: values under keys, made durable through a file descriptor of its own.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hub_protocol::Seq;

use crate::core::durable;
use crate::log::journal::JournalError;
use crate::log::journal::block::{self, Block, Defect, Key};

/// The number of bytes of blocks between two syncs, see [`super`].
pub(super) const SYNC_EVERY: usize = 32 * 1024;
/// The number of removals between two syncs, see [`super`].
pub(super) const REMOVALS_PER_SYNC: usize = 16;
/// The size of sled's page cache in bytes. Readers that are behind read a block about once; the rest is for the tree.
const CACHE_BYTES: u64 = 48 << 20;
/// The longest time to wait for sled's threads, which hold the file for a moment after it was closed.
const REOPEN_PATIENCE: Duration = Duration::from_secs(5);

/// The result of looking up a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// A block that begins with this record; it is the wanted record or a later one.
    Block(Seq),
    /// A later part of this record.
    Part(Seq),
    /// A block that cannot be read.
    Broken,
    /// No block: the store ends before the record.
    Nothing,
}

/// An open sled database, and a descriptor of its file for `fdatasync`.
#[derive(Debug)]
pub(super) struct Store {
    db: sled::Db,
    file: File,
    fdatasync: bool,
}

/// Runs `act`, which calls sled. A panic of sled becomes an error.
pub(super) fn caught<T>(act: impl FnOnce() -> Result<T, JournalError>) -> Result<T, JournalError> {
    let panicked = |_| Err(io::Error::other("sled panicked").into());
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(panicked)
}

/// Runs `read`, which reads through sled. A panic of sled becomes a defect of the data.
fn reading<T>(read: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let panicked = |_| Err(Fault::Defect(Defect::Broken("sled panicked while reading")));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
}

/// Why a value could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Sled(#[from] sled::Error),
    #[error(transparent)]
    Defect(#[from] Defect),
}

impl Fault {
    /// The fault of a record that should exist.
    pub(super) fn missing() -> Self {
        Self::Defect(Defect::Broken("a block is missing"))
    }
}

/// Converts `fault`, found at entry `at`, to an error of the journal.
pub(super) fn corrupt(at: Seq, fault: Fault) -> JournalError {
    match fault {
        Fault::Sled(sled::Error::Io(error)) => error.into(),
        Fault::Defect(Defect::Version(found)) => JournalError::Unsupported {
            found: found.into(),
            known: block::HOLE_VERSION.into(),
        },
        fault => JournalError::Corrupt {
            at,
            reason: fault.to_string(),
        },
    }
}

/// Converts an error of a write through sled; a full disk becomes [`JournalError::Full`].
pub(super) fn write_error(error: sled::Error) -> JournalError {
    match error {
        sled::Error::Io(error) => io_error(error),
        other => io::Error::other(other.to_string()).into(),
    }
}

/// Converts an error of a system call; a full disk, quota or file size limit becomes [`JournalError::Full`].
pub(in crate::log::journal) fn io_error(error: io::Error) -> JournalError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => JournalError::Full,
        _ => error.into(),
    }
}

impl Store {
    /// Opens sled once. A panic of sled becomes an error.
    fn try_open(dir: &Path, fdatasync: bool) -> Result<Self, sled::Error> {
        let config = sled::Config::new()
            .path(dir)
            .cache_capacity(CACHE_BYTES)
            .flush_every_ms(None);
        let opened = catch_unwind(AssertUnwindSafe(|| config.open()));
        let db = opened.unwrap_or_else(|_| {
            Err(sled::Error::ReportableBug(
                "sled panicked while opening".into(),
            ))
        })?;
        let file = File::options()
            .read(true)
            .write(true)
            .open(dir.join("db"))?;
        // sled makes neither its settings file nor its directory entries durable.
        File::open(dir.join("conf"))?.sync_all()?;
        durable::sync_dir(dir)?;
        Ok(Self {
            db,
            file,
            fdatasync,
        })
    }

    /// Opens sled in `dir`. Retries for a while if this process has just closed it.
    pub(super) fn open(dir: &Path, fdatasync: bool) -> Result<Self, sled::Error> {
        let begun = Instant::now();
        loop {
            match Self::try_open(dir, fdatasync) {
                Err(sled::Error::Io(error))
                    if is_locked(&error) && begun.elapsed() < REOPEN_PATIENCE =>
                {
                    thread::sleep(Duration::from_millis(1));
                }
                result => return result,
            }
        }
    }

    pub(super) fn insert(&self, key: Key, value: Vec<u8>) -> Result<(), JournalError> {
        self.db.insert(key, value).map(drop).map_err(write_error)
    }

    pub(super) fn remove(&self, key: Key) -> Result<(), JournalError> {
        self.db.remove(key).map(drop).map_err(write_error)
    }

    /// Makes all writes so far durable.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        self.db.flush().map_err(write_error)?;
        if self.fdatasync {
            // A failed sync is never reported as a full disk: the page cache may now differ from the disk.
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Returns the key of the first block; `None` if the store is empty.
    pub(super) fn first(&self) -> Result<Option<Key>, Fault> {
        Ok(self.db.first()?.map(|(key, _)| as_key(&key)).transpose()?)
    }

    /// Returns the key of the block in which entry `seq` begins, or of the nearest block before.
    pub(super) fn start_of(&self, seq: Seq) -> Result<Key, JournalError> {
        let found = reading(|| Ok(self.db.get_lt(block::key(seq + 1, 0))?))
            .map_err(|fault| corrupt(seq, fault))?;
        let (key, _) = found.ok_or_else(|| corrupt(seq, Fault::missing()))?;
        let key = as_key(&key).map_err(|defect| corrupt(seq, defect.into()))?;
        Ok(block::key(block::seq_of(key), 0))
    }

    /// Returns the keys from `start` on, up to the first that cannot be read.
    pub(super) fn keys(&self, start: Key) -> impl Iterator<Item = Result<Key, Fault>> {
        until_error(self.db.range(start..).keys().map(|key| Ok(as_key(&key?)?)))
    }

    /// Returns the blocks from `start` on, up to the first that cannot be read: after an error sled may repeat it
    /// forever.
    pub(super) fn blocks(&self, start: Key) -> impl Iterator<Item = Result<(Key, Block), Fault>> {
        let mut range = self.db.range(start..);
        let next = move || {
            let found = reading(|| match range.next() {
                None => Ok(None),
                Some(found) => {
                    let (key, value) = found?;
                    let key = as_key(&key)?;
                    let block = Block::decode(&key, &Bytes::from_owner(value))?;
                    Ok(Some((key, block)))
                }
            });
            found.transpose()
        };
        until_error(std::iter::from_fn(next))
    }

    /// Looks up the block of the record `at`, or the first one after it.
    pub(super) fn probe(&self, at: Seq) -> Result<Probe, JournalError> {
        match self.blocks(block::key(at, 0)).next() {
            None => Ok(Probe::Nothing),
            Some(Ok((_, block))) if block.part == 0 => Ok(Probe::Block(block.first)),
            Some(Ok((_, block))) => Ok(Probe::Part(block.first)),
            Some(Err(fault)) => match corrupt(at, fault) {
                JournalError::Corrupt { .. } => Ok(Probe::Broken),
                error => Err(error),
            },
        }
    }
}

fn until_error<T>(
    found: impl Iterator<Item = Result<T, Fault>>,
) -> impl Iterator<Item = Result<T, Fault>> {
    let mut broken = false;
    found.take_while(move |item| !std::mem::replace(&mut broken, item.is_err()))
}

fn as_key(bytes: &[u8]) -> Result<Key, Defect> {
    bytes
        .try_into()
        .map_err(|_| Defect::Broken("a key is no block's key"))
}

fn is_locked(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}
