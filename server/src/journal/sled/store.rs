//! The only code that calls sled: values under keys, made durable by our own descriptor.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hub_protocol::Seq;

use crate::journal::block::{self, Block, Defect, Key};
use crate::journal::{JournalError, durable};

/// Bytes of blocks between two syncs, see [`super`].
pub(super) const SYNC_EVERY: usize = 32 * 1024;
/// Removals between two syncs, see [`super`].
pub(super) const REMOVALS_PER_SYNC: usize = 16;
/// sled's page cache. A block is read about once by readers that are behind; the rest is for the tree itself.
const CACHE_BYTES: u64 = 48 << 20;
/// sled's own threads hold the file for a moment after it was closed.
const REOPEN_PATIENCE: Duration = Duration::from_secs(5);

/// An open sled and the descriptor that makes it durable.
#[derive(Debug)]
pub(super) struct Store {
    db: sled::Db,
    file: File,
    fdatasync: bool,
}

/// Runs what calls sled, which may panic on what it does not expect; that is an error here.
pub(super) fn caught<T>(act: impl FnOnce() -> Result<T, JournalError>) -> Result<T, JournalError> {
    let panicked = |_| Err(io::Error::other("sled panicked").into());
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(panicked)
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
    /// Of a record that should be there.
    pub(super) fn missing() -> Self {
        Self::Defect(Defect::Broken("a block is missing"))
    }
}

/// `fault`, met where entry `at` should be.
pub(super) fn corrupt(at: Seq, fault: Fault) -> JournalError {
    match fault {
        Fault::Sled(sled::Error::Io(error)) => error.into(),
        Fault::Defect(Defect::Version(found)) => JournalError::Unsupported {
            found: found.into(),
            known: block::VERSION.into(),
        },
        fault => JournalError::Corrupt {
            at,
            reason: fault.to_string(),
        },
    }
}

/// What a failed write means.
pub(super) fn write_error(error: sled::Error) -> JournalError {
    match error {
        sled::Error::Io(error) => io_error(error),
        other => io::Error::other(other.to_string()).into(),
    }
}

/// What a failed system call means.
pub(in crate::journal) fn io_error(error: io::Error) -> JournalError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => JournalError::Full,
        _ => error.into(),
    }
}

impl Store {
    /// sled may panic on what it does not expect to read; that is an error here.
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
        // sled does not make its settings and its files' names durable.
        File::open(dir.join("conf"))?.sync_all()?;
        durable::sync_dir(dir)?;
        Ok(Self {
            db,
            file,
            fdatasync,
        })
    }

    /// Opens sled in `dir`, even where this process had it open a moment ago.
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

    /// Makes everything written so far durable.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        self.db.flush().map_err(write_error)?;
        if self.fdatasync {
            // Never a full disk: the page cache may show now what is not on the disk.
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// The key of the first block, if there is one.
    pub(super) fn first(&self) -> Result<Option<Key>, Fault> {
        Ok(self.db.first()?.map(|(key, _)| as_key(&key)).transpose()?)
    }

    /// The key where the block with entry `seq` begins, or the nearest before.
    pub(super) fn start_of(&self, seq: Seq) -> Result<Key, JournalError> {
        let found = self
            .db
            .get_lt(block::key(seq + 1, 0))
            .map_err(|error| corrupt(seq, error.into()))?;
        let (key, _) = found.ok_or_else(|| corrupt(seq, Fault::missing()))?;
        let key = as_key(&key).map_err(|defect| corrupt(seq, defect.into()))?;
        Ok(block::key(block::seq_of(key), 0))
    }

    /// The keys from `start` on, up to the first that cannot be read.
    pub(super) fn keys(&self, start: Key) -> impl Iterator<Item = Result<Key, Fault>> {
        until_error(self.db.range(start..).keys().map(|key| Ok(as_key(&key?)?)))
    }

    /// The blocks from `start` on, up to the first that cannot be read: after an error sled may repeat it for ever.
    pub(super) fn blocks(&self, start: Key) -> impl Iterator<Item = Result<(Key, Block), Fault>> {
        until_error(self.db.range(start..).map(|found| {
            let (key, value) = found?;
            let key = as_key(&key)?;
            Ok((key, Block::decode(&key, &Bytes::from_owner(value))?))
        }))
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
