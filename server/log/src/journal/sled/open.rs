//! Opens a journal: its required records must exist and chain. Otherwise it stays closed, and the error says what to
//! do.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, RwLock};

use hub_core::durable;
use hub_protocol::Epoch;

use super::place::OpenedFile;
use super::read::lost::LostRanges;
use super::staging::{DirLock, remove_file};
use super::store::{self, BlockStore};
use super::{DiskSpace, Files, SledShared, StoreWriter, disk_space, recovery};
use crate::journal::epoch::{self, Anchor, EpochFile};
use crate::journal::{JournalError, snapshot};
use verify::TailScan;

mod backup;
mod error;
mod options;
mod verify;

pub(crate) use backup::PreOpenBackup;
pub use error::OpenError;
pub use options::{DurabilityChecks, JournalOrigin, Options};
pub(crate) use verify::check;

/// Opens the journal in the state directory `dir`, or creates one if there is none.
pub(crate) fn open(dir: &Path, options: Options) -> Result<SledShared, OpenError> {
    let lock = DirLock::take(dir)?;
    let files = lock.files().clone();
    durable::clear_unfinished(&files.root)?;
    durable::clear_unfinished(&files.snapshots())?;
    if files.suspect().exists() && files.journal().exists() {
        recovery::replace_suspect(&lock, options.checks)?;
    }
    let anchor = read_anchor(&files)?;
    if let Some(anchor) = anchor.as_ref().filter(|_| options.shrink) {
        recovery::shrink(&lock, anchor, options.checks);
    }
    let (store, anchor, end) = open_whole(&lock, anchor, options)?;
    // The data that a killed process wrote may be in the page cache only, but counts as stored from here on. sled
    // itself syncs at open only if its last segment is not full.
    store.sync()?;
    let epoch_file = EpochFile::open(&files.epoch(), anchor)?;
    let shared = SledShared {
        epoch: anchor.epoch,
        logged: AtomicU64::new(anchor.logged),
        head: AtomicU64::new(end.tail.head),
        earliest: AtomicU64::new(anchor.first),
        bytes: AtomicU64::new(anchor.bytes + end.bytes_since),
        writer: Mutex::new(StoreWriter {
            tail: end.tail,
            closed: false,
        }),
        store: RwLock::new(Some(store)),
        space: DiskSpace::new(
            &files,
            options.reserve_bytes,
            options.floor_bytes,
            anchor.bytes + end.bytes_since,
        )?,
        fault: Mutex::new(None),
        lost_ranges: LostRanges::default(),
        epoch_file,
        place: OpenedFile::at(files.db())?,
        options,
        files,
        _lock: lock.into_file(),
    };
    shared.mark()?;
    Ok(shared)
}

/// Opens the journal that `anchor` describes. If sled does not find all of it, copies the blocks from sled's file
/// without sled.
fn open_whole(
    lock: &DirLock,
    anchor: Option<Anchor>,
    options: Options,
) -> Result<(BlockStore, Anchor, TailScan), OpenError> {
    let files = lock.files();
    let backup = PreOpenBackup::take(files)?;
    match open_checked(files, anchor, options) {
        Ok(opened) => {
            backup.discard()?;
            Ok(opened)
        }
        Err(error) => {
            backup.restore()?;
            if anchor.is_none() || !recovery::may_be_derived(&error) || !files.db().exists() {
                return Err(error);
            }
            recovery::replace_derived(lock, options.checks, error)?;
            open_checked(files, anchor, options)
        }
    }
}

fn open_checked(
    files: &Files,
    anchor: Option<Anchor>,
    options: Options,
) -> Result<(BlockStore, Anchor, TailScan), OpenError> {
    let store = open_store(files, anchor.as_ref(), options.checks)?;
    let anchor = match anchor {
        Some(anchor) => anchor,
        None => begin(&store, files, options.origin)?,
    };
    // sled may panic on unexpected data.
    let checked = catch_unwind(AssertUnwindSafe(|| {
        check(&store, &anchor, files, options.checks)
    }));
    let panicked = |_| {
        Err(OpenError::Broken {
            at: anchor.first,
            reason: "sled panicked while reading".into(),
        })
    };
    let end = checked.unwrap_or_else(panicked)?;
    Ok((store, anchor, end))
}

/// Reads the epoch file; `None` if there is none, because no journal was made here yet.
pub(crate) fn read_anchor(files: &Files) -> Result<Option<Anchor>, OpenError> {
    let anchor = EpochFile::read(&files.epoch()).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => OpenError::NoEpoch,
        _ => OpenError::Io(error),
    })?;
    match anchor {
        Some(Anchor { format, .. }) if format > epoch::FORMAT => {
            let (found, known) = (format, epoch::FORMAT);
            Err(JournalError::Unsupported { found, known }.into())
        }
        anchor => Ok(anchor),
    }
}

fn open_store(
    files: &Files,
    anchor: Option<&Anchor>,
    checks: DurabilityChecks,
) -> Result<BlockStore, OpenError> {
    // Without this check, sled would create an empty file.
    if let Some(anchor) = anchor.filter(|_| checks.epoch && !files.db().exists()) {
        return Err(OpenError::Empty {
            synced: anchor.synced,
        });
    }
    if files.are_only_replaced()? {
        return Err(OpenError::Replaced);
    }
    prepare(&files.journal())?;
    if anchor.is_none() {
        // An interrupted first start may have left incomplete settings; sled writes them again.
        remove_file(&files.settings())?;
    }
    let store = with_reserve(files, || open_with_room(&files.journal(), checks.fdatasync))?;
    durable::sync_dir(&files.root)?;
    Ok(store)
}

/// Runs `act`. If the disk is full, releases the reserve and runs it once more.
pub(crate) fn with_reserve<T>(
    files: &Files,
    act: impl Fn() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    match act() {
        Err(OpenError::Full) => {
            disk_space::release(&files.reserve());
            act()
        }
        done => done,
    }
}

/// Opens sled in the directory `journal`. On a full disk sled fails with various errors and leaves partial files; the
/// result is then [`OpenError::Full`], and the files are removed.
pub(crate) fn open_with_room(journal: &Path, fdatasync: bool) -> Result<BlockStore, OpenError> {
    durable::clear(journal, "generating")?;
    let opened = BlockStore::open(journal, fdatasync).map_err(sled_error);
    opened.map_err(|error| match error {
        OpenError::Broken { .. } if disk_space::is_scarce(journal) => {
            // A partial file would prevent the next attempt.
            let _ = durable::clear(journal, "generating");
            OpenError::Full
        }
        error => error,
    })
}

/// Creates sled's directory for its owner only, and removes partial files that would prevent sled from opening.
pub(crate) fn prepare(journal: &Path) -> io::Result<()> {
    durable::private_dir(journal)?;
    durable::clear(journal, "generating")
}

pub(crate) fn sled_error(error: ::sled::Error) -> OpenError {
    match error {
        ::sled::Error::Io(error) => error.into(),
        other => OpenError::Broken {
            at: 1,
            reason: other.to_string(),
        },
    }
}

/// Creates the epoch file of a new journal. Fails if the store or the snapshots show that there was a journal.
fn begin(
    store: &BlockStore,
    files: &Files,
    origin: Option<JournalOrigin>,
) -> Result<Anchor, OpenError> {
    let empty = store
        .first()
        .map_err(|fault| store::corrupt(1, fault))?
        .is_none();
    if !empty || snapshot::exist_in(&files.snapshots()) {
        return Err(OpenError::NoEpoch);
    }
    store.sync()?;
    let origin = match origin {
        Some(origin) => origin,
        None => JournalOrigin {
            epoch: random_epoch()?,
            first: 1,
            chain: 0,
        },
    };
    let anchor = Anchor::empty(origin.epoch, origin.first, origin.chain);
    EpochFile::create(&files.epoch(), anchor)?;
    Ok(anchor)
}

pub(crate) fn random_epoch() -> Result<Epoch, OpenError> {
    let random =
        getrandom::u64().map_err(|error| OpenError::Io(io::Error::other(error.to_string())))?;
    Ok(Epoch(random))
}
