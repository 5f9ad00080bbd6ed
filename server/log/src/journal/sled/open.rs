//! Opens a store, and checks that its records chain. Without segments a damaged one stays closed, and the error says what to
//! do.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, RwLock};

use hub_core::durable;
use hub_protocol::Epoch;

use super::lost::LostRanges;
use super::place::OpenedFile;
use super::staging::{DirLock, remove_file};
use super::store::{self, BlockStore};
use super::{DiskSpace, Files, SledStore, StoreWriter, disk_space, renew};
use crate::journal::block::Tail;
use crate::journal::epoch::{self, Anchor, EpochFile};
use crate::journal::{JournalError, snapshot};

mod error;
mod options;
mod verify;

pub use error::OpenError;
pub use options::{DurabilityChecks, JournalOrigin, Options};
use verify::{begin_of, check};

/// Opens the store in the state directory `dir`, or creates one if there is none. With segments, a damaged store is opened as
/// far as it can be read: [`SledStore::make_anew`] replaces it.
pub(crate) fn open(dir: &Path, options: Options) -> Result<SledStore, OpenError> {
    let lock = DirLock::take(dir)?;
    let files = lock.files().clone();
    durable::clear_unfinished(&files.root)?;
    durable::clear_unfinished(&files.snapshots())?;
    let anchor = read_anchor(&files)?;
    // Before sled opens the file, and changes its size.
    let is_too_large =
        options.shrink && { anchor.as_ref() }.is_some_and(|it| renew::is_too_large(&files, it));
    let Opened {
        store,
        anchor,
        tail,
        damage,
    } = open_store(&files, anchor, options)?;
    // The data that a killed process wrote may be in the page cache only, but counts as stored from here on. sled
    // itself syncs at open only if its last segment is not full.
    if let Some(store) = store.as_ref().filter(|_| damage.is_none()) {
        store.sync()?;
    }
    let place = match &store {
        Some(_) => Some(OpenedFile::at(&files.disk, files.db())?),
        None => None,
    };
    let epoch_file = EpochFile::open(&*files.disk, &files.epoch(), anchor)?;
    Ok(SledStore {
        head: AtomicU64::new(tail.head),
        writer: Mutex::new(StoreWriter {
            tail,
            closed: false,
        }),
        store: RwLock::new(store),
        space: DiskSpace::new(&files, options.reserve_bytes, options.floor_bytes)?,
        fault: Mutex::new(None),
        damage: Mutex::new(damage),
        is_too_large: AtomicBool::new(is_too_large),
        lost: LostRanges::default(),
        epoch_file,
        place: Mutex::new(place),
        options,
        files,
        _lock: lock.into_file(),
    })
}

/// An opened store.
struct Opened {
    /// `None` if sled cannot open it.
    store: Option<BlockStore>,
    anchor: Anchor,
    tail: Tail,
    /// Why it must be made anew; then its end does not count.
    damage: Option<String>,
}

/// Opens the store that `anchor` describes, and checks it.
fn open_store(
    files: &Files,
    anchor: Option<Anchor>,
    options: Options,
) -> Result<Opened, OpenError> {
    let has_segments = anchor.as_ref().is_some_and(Anchor::has_segments);
    let store = match open_sled(files, anchor.as_ref(), options.checks) {
        Err(error) if has_segments && is_damage(&error) => {
            return Ok(damaged(None, anchor, defect(error)));
        }
        store => store?,
    };
    let anchor = match anchor {
        Some(anchor) => anchor,
        None => begin(&store, files, options.origin)?,
    };
    if has_segments && files.suspect().exists() {
        let reason = "the last run could not write or read something".into();
        return Ok(damaged(Some(store), Some(anchor), reason));
    }
    // sled may panic on unexpected data.
    let checked = catch_unwind(AssertUnwindSafe(|| check(&store, &anchor, files)));
    let panicked = |_| {
        Err(OpenError::Broken {
            at: anchor.first,
            reason: "sled panicked while reading".into(),
        })
    };
    match checked.unwrap_or_else(panicked) {
        Ok(tail) => Ok(Opened {
            store: Some(store),
            anchor,
            tail,
            damage: None,
        }),
        Err(error) if has_segments && is_damage(&error) => {
            Ok(damaged(Some(store), Some(anchor), defect(error)))
        }
        Err(error) => Err(error),
    }
}

fn damaged(store: Option<BlockStore>, anchor: Option<Anchor>, reason: String) -> Opened {
    tracing::warn!(
        reason,
        "the store is damaged: its records are read from the segments"
    );
    let anchor = anchor.expect("a journal with segments has an anchor");
    Opened {
        store,
        anchor,
        tail: begin_of(&anchor),
        damage: Some(reason),
    }
}

/// Returns what is wrong with a store, without the advice for a journal that is refused.
fn defect(error: OpenError) -> String {
    match error {
        OpenError::Behind { .. } => "sled's file is missing".into(),
        OpenError::Broken { at, reason } => format!("it is broken at record {at}: {reason}"),
        error => error.to_string(),
    }
}

/// Whether the store is damaged, rather than not available.
fn is_damage(error: &OpenError) -> bool {
    match error {
        OpenError::Broken { .. } | OpenError::Behind { .. } => true,
        OpenError::Io(error) => {
            matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::InvalidData
                    | io::ErrorKind::IsADirectory
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::NotFound
                    | io::ErrorKind::AlreadyExists
            ) || error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
        }
        _ => false,
    }
}

/// Reads the epoch file; `None` if there is none, because no journal was made here yet.
pub fn read_anchor(files: &Files) -> Result<Option<Anchor>, OpenError> {
    let anchor =
        EpochFile::read(&*files.disk, &files.epoch()).map_err(|error| match error.kind() {
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

fn open_sled(
    files: &Files,
    anchor: Option<&Anchor>,
    checks: DurabilityChecks,
) -> Result<BlockStore, OpenError> {
    // Without this check, sled would create an empty file.
    if let Some(anchor) = anchor.filter(|_| !files.db().exists()) {
        let (head, synced) = (anchor.first - 1, anchor.synced);
        return Err(OpenError::Behind { head, synced });
    }
    if files.are_only_replaced()? {
        return Err(OpenError::Replaced);
    }
    durable::private_dir(&files.journal())?;
    if anchor.is_none() {
        // An interrupted first start may have left incomplete settings; sled writes them again.
        remove_file(&files.settings())?;
    }
    let release = || disk_space::release(&files.reserve());
    let store = with_reserve(release, || {
        open_with_room(&files.journal(), checks.fdatasync)
    })?;
    durable::sync_dir(&files.root)?;
    Ok(store)
}

/// Runs `act`. If the disk is full, releases the reserve and runs it once more.
pub(crate) fn with_reserve<T>(
    release: impl FnOnce(),
    act: impl Fn() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    match act() {
        Err(OpenError::Full) => {
            release();
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
    let has_segments = !files.disk.list(&files.segments())?.is_empty();
    if !empty || has_segments || snapshot::exist_in(&*files.disk, &files.snapshots()) {
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
    EpochFile::create(&*files.disk, &files.epoch(), anchor)?;
    Ok(anchor)
}

pub(crate) fn random_epoch() -> Result<Epoch, OpenError> {
    let random =
        getrandom::u64().map_err(|error| OpenError::Io(io::Error::other(error.to_string())))?;
    Ok(Epoch(random))
}
