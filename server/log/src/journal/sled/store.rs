//! The only code that calls sled: values under keys, made durable through a file descriptor of its own.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hub_core::durable;
use hub_protocol::Seq;

use crate::journal::block::{self, Block, BlockKey, ChainReader, Defect};
use crate::journal::{Entry, JournalError};

/// The number of bytes of blocks between two syncs, see [`super`].
pub(crate) const SYNC_EVERY: usize = 48 * 1024;
/// The number of removals between two syncs, see [`super`].
pub(crate) const REMOVALS_PER_SYNC: usize = 16;
/// The size of sled's page cache in bytes. Readers that are behind read a block about once; the rest is for the tree.
const CACHE_BYTES: u64 = 48 << 20;
/// The longest time to wait for sled's threads, which hold the file for a moment after it was closed.
const REOPEN_PATIENCE: Duration = Duration::from_secs(5);

/// A block that was read, and that chains to the one before.
pub(crate) struct CheckedBlock {
    pub(crate) key: BlockKey,
    pub(crate) block: Block,
    /// The entries that the block completes.
    pub(crate) entries: Vec<Entry>,
    /// Whether the block ends with a whole record.
    pub(crate) is_whole: bool,
    /// The first record that the blocks so far do not complete.
    pub(crate) next: Seq,
}

/// An open sled database, and a descriptor of its file for `fdatasync`.
#[derive(Debug)]
pub(crate) struct BlockStore {
    db: sled::Db,
    file: File,
    fdatasync: bool,
}

/// Runs `act`, which calls sled. A panic of sled becomes an error.
pub(crate) fn caught<T>(act: impl FnOnce() -> Result<T, JournalError>) -> Result<T, JournalError> {
    let panicked = |_| Err(io::Error::other("sled panicked").into());
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(panicked)
}

/// Runs `read`, which reads through sled. A panic of sled becomes a defect of the data.
fn reading<T>(read: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    let panicked = |_| {
        Err(ReadError::Defect(Defect::Broken(
            "sled panicked while reading",
        )))
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
}

/// Why a value could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Sled(#[from] sled::Error),
    #[error(transparent)]
    Defect(#[from] Defect),
}

impl ReadError {
    /// The fault of a record that should exist.
    pub(crate) fn missing() -> Self {
        Self::Defect(Defect::Broken("a block is missing"))
    }
}

/// Converts `fault`, found at entry `at`, to an error of the journal.
pub(crate) fn corrupt(at: Seq, fault: ReadError) -> JournalError {
    match fault {
        ReadError::Sled(sled::Error::Io(error)) => error.into(),
        ReadError::Defect(Defect::Version(found)) => JournalError::Unsupported {
            found: found.into(),
            known: block::LOST_VERSION.into(),
        },
        fault => JournalError::Corrupt {
            at,
            reason: fault.to_string(),
        },
    }
}

/// Converts an error of a write through sled; a full disk becomes [`JournalError::Full`].
pub(crate) fn write_error(error: sled::Error) -> JournalError {
    match error {
        sled::Error::Io(error) => io_error(error),
        other => io::Error::other(other.to_string()).into(),
    }
}

/// Converts an error of a system call; a full disk, quota or file size limit becomes [`JournalError::Full`].
pub(crate) fn io_error(error: io::Error) -> JournalError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => JournalError::Full,
        _ => error.into(),
    }
}

impl BlockStore {
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
    pub(crate) fn open(dir: &Path, fdatasync: bool) -> Result<Self, sled::Error> {
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

    /// Closes sled, which syncs once more, and panics if that fails.
    pub(crate) fn close(store: Option<Self>) -> Result<(), JournalError> {
        caught(|| {
            drop(store);
            Ok(())
        })
    }

    pub(crate) fn insert(&self, key: BlockKey, value: Vec<u8>) -> Result<(), JournalError> {
        self.db.insert(key, value).map(drop).map_err(write_error)
    }

    /// Removes blocks durably, with one sync.
    pub(crate) fn remove(&self, keys: &[BlockKey]) -> Result<(), JournalError> {
        for key in keys {
            self.db.remove(key).map_err(write_error)?;
        }
        self.sync()
    }

    /// Removes any number of blocks durably.
    pub(crate) fn remove_all(&self, keys: &[BlockKey]) -> Result<(), JournalError> {
        keys.chunks(REMOVALS_PER_SYNC)
            .try_for_each(|keys| self.remove(keys))
    }

    /// Makes all writes so far durable.
    pub(crate) fn sync(&self) -> Result<(), JournalError> {
        self.db.flush().map_err(write_error)?;
        if self.fdatasync {
            // A failed sync is never reported as a full disk: the page cache may now differ from the disk.
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Returns the key of the first block; `None` if the store is empty.
    pub(crate) fn first(&self) -> Result<Option<BlockKey>, ReadError> {
        Ok(self
            .db
            .first()?
            .map(|(key, _)| parse_key(&key))
            .transpose()?)
    }

    /// Returns the key of the block in which entry `seq` begins, or of the nearest block before.
    pub(crate) fn start_of(&self, seq: Seq) -> Result<BlockKey, JournalError> {
        let found = reading(|| Ok(self.db.get_lt(block::key(seq + 1, 0))?))
            .map_err(|fault| corrupt(seq, fault))?;
        let (key, _) = found.ok_or_else(|| corrupt(seq, ReadError::missing()))?;
        let key = parse_key(&key).map_err(|defect| corrupt(seq, defect.into()))?;
        Ok(block::key(block::seq_of(key), 0))
    }

    /// Returns the keys from `start` on, up to the first that cannot be read.
    pub(crate) fn keys(
        &self,
        start: BlockKey,
    ) -> impl Iterator<Item = Result<BlockKey, ReadError>> {
        until_error(
            self.db
                .range(start..)
                .keys()
                .map(|key| Ok(parse_key(&key?)?)),
        )
    }

    /// Returns the blocks from `start` on, up to the first that cannot be read: after an error sled may repeat it
    /// forever.
    pub(crate) fn blocks(
        &self,
        start: BlockKey,
    ) -> impl Iterator<Item = Result<(BlockKey, Block), ReadError>> {
        let mut range = self.db.range(start..);
        let next = move || {
            let found = reading(|| match range.next() {
                None => Ok(None),
                Some(found) => {
                    let (key, value) = found?;
                    let key = parse_key(&key)?;
                    let block = Block::decode(&key, &Bytes::from_owner(value))?;
                    Ok(Some((key, block)))
                }
            });
            found.transpose()
        };
        until_error(std::iter::from_fn(next))
    }

    /// Returns the blocks from the one of the record `from` on. An error names the first record that cannot be read.
    pub(crate) fn checked_blocks(
        &self,
        from: Seq,
    ) -> Result<impl Iterator<Item = Result<CheckedBlock, JournalError>>, JournalError> {
        let (mut reader, mut next) = (ChainReader::default(), from);
        let blocks = self.blocks(self.start_of(from)?);
        Ok(blocks.map(move |found| {
            let read = found.and_then(|(key, block)| Ok((reader.step(&block)?, key, block)));
            let (entries, key, block) = read.map_err(|error| corrupt(next, error))?;
            let is_whole = !reader.is_within_record();
            if is_whole {
                next = from.max(block.last() + 1);
            }
            Ok(CheckedBlock {
                key,
                block,
                entries,
                is_whole,
                next,
            })
        }))
    }
}

fn until_error<T>(
    found: impl Iterator<Item = Result<T, ReadError>>,
) -> impl Iterator<Item = Result<T, ReadError>> {
    let mut broken = false;
    found.take_while(move |item| !std::mem::replace(&mut broken, item.is_err()))
}

fn parse_key(bytes: &[u8]) -> Result<BlockKey, Defect> {
    bytes
        .try_into()
        .map_err(|_| Defect::Broken("a key is no block's key"))
}

fn is_locked(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}
