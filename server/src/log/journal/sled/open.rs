//! Opens a journal: its required records must exist and chain. Otherwise it stays closed, and the error says what to
//! do.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, RwLock};

use hub_protocol::{Epoch, Seq};

use super::making::{Lock, remove_file};
use super::store::{self, REMOVALS_PER_SYNC, Store};
use super::untouched::Untouched;
use super::verify::{self, End};
use super::{Fences, Files, Holes, Shared, Space, Writer, rescue, space, trim};
use crate::core::durable;
use crate::log::journal::block::{self, Key};
use crate::log::journal::epoch::{self, Anchor, EpochFile};
use crate::log::journal::{JournalError, snapshot};

/// How to open and keep a journal.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of disk space reserved for acks when the disk is full.
    pub reserve_bytes: u64,
    /// Bytes of free disk space below which publishes are refused.
    pub floor_bytes: u64,
    /// Bytes of the write-ahead log in front of the store.
    pub log_bytes: u64,
    /// Whether to rewrite sled's file at open if it is much larger than its entries.
    pub shrink: bool,
    /// The identity and the first record of a new journal; `None` means a random epoch and record 1.
    pub origin: Option<Origin>,
    /// The protections that tests switch off.
    #[doc(hidden)]
    pub fences: Fences,
}

impl Default for Options {
    fn default() -> Self {
        // sled grows by segments of 512 KiB and rewrites some when it opens, so there must be room for a few of them.
        Self {
            reserve_bytes: 8 << 20,
            floor_bytes: 4 << 20,
            // Each half holds the commits of a quarter of a second of the fastest publishers.
            log_bytes: 4 << 20,
            shrink: false,
            origin: None,
            fences: Fences::default(),
        }
    }
}

/// The point at which a new journal continues another one.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// The identity of the new journal.
    pub epoch: Epoch,
    /// The number of its first record.
    pub first: Seq,
    /// The chain before the first record.
    pub chain: u32,
}

/// Why a journal was not opened. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses the state directory.
    #[error("the state directory is in use by another process: stop that hubd first")]
    Locked,
    /// The store is missing or empty, although records were stored.
    #[error(
        "the journal is empty, but record {synced} was stored: put the directory 'journal' back, or restore a backup \
         and run `hubd adopt`; `hubd doctor` tells more"
    )]
    Empty {
        /// The last record known to be stored.
        synced: Seq,
    },
    /// The journal ends before a stored record: it is a restored backup, or its newest records were lost.
    #[error(
        "the journal ends at record {head}, but record {synced} was stored: if it is a restored backup run \
         `hubd adopt`, else `hubd doctor` tells more"
    )]
    Behind {
        /// The journal's last record.
        head: Seq,
        /// The last record known to be stored.
        synced: Seq,
    },
    /// The stored data differs from the data that was written.
    #[error(
        "the journal is broken at record {at} ({reason}): `hubd doctor` tells what can be saved, `hubd adopt` saves it"
    )]
    Broken {
        /// The first record that cannot be read.
        at: Seq,
        /// The defect, as text for the message.
        reason: String,
    },
    /// There are records, but no valid epoch file.
    #[error(
        "the file 'epoch' is missing or broken: put it back, or run `hubd adopt` to go on with what the journal holds"
    )]
    NoEpoch,
    /// The write-ahead log is missing; it may have contained the newest records.
    #[error(
        "the file 'wal' is missing, and what was stored last may have been only there: put it back, or run `hubd adopt` \
         to go on with what the journal holds"
    )]
    NoLog,
    /// The write-ahead log was emptied or replaced by an older one.
    #[error(
        "the file 'wal' does not hold record {logged}, which was written to it: what was stored last may have been only \
         there; put the newer file back, or run `hubd adopt` to go on with what the journal holds"
    )]
    OldLog {
        /// The last record known to be written to the log.
        logged: Seq,
    },
    /// The directory contains no journal, but one that another journal replaced.
    #[error(
        "there is no journal, but one was put aside as 'journal.replaced': rename it to 'journal' and run `hubd adopt` to \
         go on with what it holds, or move it elsewhere to begin anew"
    )]
    PutAside,
    /// A newer build wrote the journal.
    #[error(
        "the journal has format {found}; this version of hubd reads up to {known}: install a newer one"
    )]
    Unsupported {
        /// The journal's format version.
        found: u32,
        /// The newest format version that this build can read.
        known: u32,
    },
    /// The disk is full, even without the reserve.
    #[error("the disk is full: make room and start again")]
    Full,
    /// A read of the store failed.
    #[error(
        "cannot read {} at byte {at} ({error}), and nothing was changed: look at the disk (dmesg, smartctl) and start \
         again; if it stays so, restore a backup, or run `hubd adopt` to go on with what can be read",
        path.display()
    )]
    Unreadable {
        /// The file that could not be read.
        path: PathBuf,
        /// The offset of the failed read, within 1 MiB.
        at: u64,
        /// The error of the system call.
        error: io::Error,
    },
    /// A system call failed.
    #[error("the journal could not be opened: {0}")]
    Io(io::Error),
}

impl OpenError {
    /// Whether the storage failed, rather than the stored data being damaged.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::Io(_) | Self::Full)
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        store::io_error(error).into()
    }
}

impl From<JournalError> for OpenError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Full => Self::Full,
            JournalError::Io(error) => Self::Io(error),
            JournalError::Corrupt { at, reason } => Self::Broken { at, reason },
            JournalError::Unsupported { found, known } => Self::Unsupported { found, known },
        }
    }
}

pub(super) fn open(dir: &Path, options: Options) -> Result<Shared, OpenError> {
    let lock = Lock::take(dir)?;
    let files = lock.files().clone();
    durable::clear_unfinished(&files.root)?;
    durable::clear_unfinished(&files.snapshots())?;
    if files.suspect().exists() && files.journal().exists() {
        rescue::replace_suspect(&lock, options.fences)?;
    }
    let anchor = read_anchor(&files)?;
    if let Some(anchor) = anchor.as_ref().filter(|_| options.shrink) {
        rescue::shrink(&lock, anchor, options.fences);
    }
    let (store, anchor, end) = open_whole(&lock, anchor, options)?;
    // The data that a killed process wrote may be in the page cache only, but counts as stored from here on. sled
    // itself syncs at open only if its last segment is not full.
    store.sync()?;
    let epoch_file = EpochFile::open(&files.epoch(), anchor)?;
    let shared = Shared {
        epoch: anchor.epoch,
        logged: AtomicU64::new(anchor.logged),
        head: AtomicU64::new(end.tail.head),
        earliest: AtomicU64::new(anchor.first),
        bytes: AtomicU64::new(anchor.bytes + end.bytes_since),
        writer: Mutex::new(Writer {
            tail: end.tail,
            closed: false,
        }),
        store: RwLock::new(Some(store)),
        space: Space::new(
            &files,
            options.reserve_bytes,
            options.floor_bytes,
            anchor.bytes + end.bytes_since,
        ),
        fault: Mutex::new(None),
        holes: Holes::default(),
        epoch_file,
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
    lock: &Lock,
    anchor: Option<Anchor>,
    options: Options,
) -> Result<(Store, Anchor, End), OpenError> {
    let files = lock.files();
    let untouched = Untouched::take(files)?;
    match open_checked(files, anchor, options) {
        Ok(opened) => {
            untouched.discard()?;
            Ok(opened)
        }
        Err(error) => {
            untouched.restore()?;
            if anchor.is_none() || !rescue::may_be_derived(&error) || !files.db().exists() {
                return Err(error);
            }
            rescue::replace_derived(lock, options.fences, error)?;
            open_checked(files, anchor, options)
        }
    }
}

fn open_checked(
    files: &Files,
    anchor: Option<Anchor>,
    options: Options,
) -> Result<(Store, Anchor, End), OpenError> {
    let store = open_store(files, anchor.as_ref(), options.fences)?;
    let anchor = match anchor {
        Some(anchor) => anchor,
        None => begin(&store, files, options.origin)?,
    };
    // sled may panic on unexpected data.
    let checked = catch_unwind(AssertUnwindSafe(|| {
        check(&store, &anchor, files, options.fences)
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
pub(super) fn read_anchor(files: &Files) -> Result<Option<Anchor>, OpenError> {
    let anchor = EpochFile::read(&files.epoch()).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => OpenError::NoEpoch,
        _ => OpenError::Io(error),
    })?;
    match anchor {
        Some(Anchor { format, .. }) if format > epoch::FORMAT => Err(OpenError::Unsupported {
            found: format,
            known: epoch::FORMAT,
        }),
        anchor => Ok(anchor),
    }
}

fn open_store(files: &Files, anchor: Option<&Anchor>, fences: Fences) -> Result<Store, OpenError> {
    // Without this check, sled would create an empty file.
    if let Some(anchor) = anchor.filter(|_| fences.epoch && !files.db().exists()) {
        return Err(OpenError::Empty {
            synced: anchor.synced,
        });
    }
    if files.are_put_aside()? {
        return Err(OpenError::PutAside);
    }
    prepare(&files.journal())?;
    if anchor.is_none() {
        // An interrupted first start may have left incomplete settings; sled writes them again.
        remove_file(&files.settings())?;
    }
    let store = with_reserve(files, || open_with_room(&files.journal(), fences.fdatasync))?;
    durable::sync_dir(&files.root)?;
    Ok(store)
}

/// Runs `act`. If the disk is full, releases the reserve and runs it once more.
pub(super) fn with_reserve<T>(
    files: &Files,
    act: impl Fn() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    match act() {
        Err(OpenError::Full) => {
            space::release(&files.reserve());
            act()
        }
        done => done,
    }
}

/// Opens sled in the directory `journal`. On a full disk sled fails with various errors and leaves partial files; the
/// result is then [`OpenError::Full`], and the files are removed.
pub(super) fn open_with_room(journal: &Path, fdatasync: bool) -> Result<Store, OpenError> {
    durable::clear(journal, "generating")?;
    let opened = Store::open(journal, fdatasync).map_err(sled_error);
    opened.map_err(|error| match error {
        OpenError::Broken { .. } if space::is_scarce(journal) => {
            // A partial file would prevent the next attempt.
            let _ = durable::clear(journal, "generating");
            OpenError::Full
        }
        error => error,
    })
}

/// Creates sled's directory for its owner only, and removes partial files that would prevent sled from opening.
pub(super) fn prepare(journal: &Path) -> io::Result<()> {
    durable::private_dir(journal)?;
    durable::clear(journal, "generating")
}

pub(super) fn sled_error(error: ::sled::Error) -> OpenError {
    match error {
        ::sled::Error::Io(error) => error.into(),
        other => OpenError::Broken {
            at: 1,
            reason: other.to_string(),
        },
    }
}

/// Creates the epoch file of a new journal. Fails if the store or the snapshots show that there was a journal.
fn begin(store: &Store, files: &Files, origin: Option<Origin>) -> Result<Anchor, OpenError> {
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
        None => Origin {
            epoch: random_epoch()?,
            first: 1,
            chain: 0,
        },
    };
    let anchor = Anchor::empty(origin.epoch, origin.first, origin.chain);
    EpochFile::create(&files.epoch(), anchor)?;
    Ok(anchor)
}

pub(in crate::log::journal) fn random_epoch() -> Result<Epoch, OpenError> {
    let random =
        getrandom::u64().map_err(|error| OpenError::Io(io::Error::other(error.to_string())))?;
    Ok(Epoch(random))
}

/// Checks that the store contains what `anchor` requires, and drops the blocks of unfinished commits and trims.
pub(super) fn check(
    store: &Store,
    anchor: &Anchor,
    files: &Files,
    fences: Fences,
) -> Result<End, OpenError> {
    if store
        .first()
        .map_err(|fault| store::corrupt(anchor.first, fault))?
        .is_none()
    {
        return check_empty(anchor, fences);
    }
    let leftovers = if fences.epoch {
        verify::check_begin(store, anchor)?
    } else {
        Vec::new()
    };
    let from = snapshot::newest_seq(&files.snapshots())
        .min(anchor.synced)
        .max(anchor.first);
    let end = verify::read_end(store, from, anchor, fences)?;
    if fences.epoch && end.tail.head < anchor.synced {
        return Err(OpenError::Behind {
            head: end.tail.head,
            synced: anchor.synced,
        });
    }
    if fences.epoch && fences.chain && end.chain_at_synced != Some(anchor.chain) {
        let reason = "the records are not those that were stored".into();
        return Err(OpenError::Broken {
            at: anchor.synced,
            reason,
        });
    }
    drop_blocks(store, &leftovers)?;
    drop_blocks(store, &end.incomplete)?;
    Ok(end)
}

fn check_empty(anchor: &Anchor, fences: Fences) -> Result<End, OpenError> {
    if fences.epoch && anchor.synced >= anchor.first {
        return Err(OpenError::Empty {
            synced: anchor.synced,
        });
    }
    Ok(End::new(anchor))
}

fn drop_blocks(store: &Store, keys: &[Key]) -> Result<(), JournalError> {
    if !keys.is_empty() {
        let first = block::seq_of(keys[0]);
        tracing::info!(
            blocks = keys.len(),
            first,
            "unfinished work of the last run is dropped"
        );
    }
    keys.chunks(REMOVALS_PER_SYNC)
        .try_for_each(|keys| trim::remove(store, keys))
}
