//! Opening: what must be there is there and chains, or the journal stays closed and says what to do.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, RwLock};

use hub_protocol::{Epoch, Seq};

use super::making::{Lock, remove_file};
use super::store::{self, REMOVALS_PER_SYNC, Store};
use super::verify::{self, End};
use super::{Fences, Files, Shared, Space, Writer, rescue, space, trim};
use crate::journal::block::{self, Key};
use crate::journal::epoch::{self, Anchor, EpochFile};
use crate::journal::{JournalError, durable, snapshot};

/// How a journal is kept.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of disk kept for acks when the disk is full.
    pub reserve_bytes: u64,
    /// Bytes of free disk below which publishes are refused.
    pub floor_bytes: u64,
    /// Bytes of the write-ahead log in front of it.
    pub log_bytes: u64,
    /// What a new journal begins with; a random epoch and record 1 when absent.
    pub origin: Option<Origin>,
    /// For tests.
    #[doc(hidden)]
    pub fences: Fences,
}

impl Default for Options {
    fn default() -> Self {
        // sled grows by segments of 512 KiB and rewrites some as it opens: a few of them must always fit.
        Self {
            reserve_bytes: 8 << 20,
            floor_bytes: 4 << 20,
            // A quarter of a second of the fastest publishers in each half.
            log_bytes: 4 << 20,
            origin: None,
            fences: Fences::default(),
        }
    }
}

/// Where a new journal takes over from another.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// Its identity.
    pub epoch: Epoch,
    /// The number of its first record.
    pub first: Seq,
    /// The chain before that record.
    pub chain: u32,
}

/// Why a journal was not opened. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the state directory is in use by another process: stop that hubd first")]
    Locked,
    /// The store is gone or holds nothing, but something was stored.
    #[error(
        "the journal is empty, but record {synced} was stored: put the directory 'journal' back, or restore a backup \
         and run `hubd adopt`; `hubd doctor` tells more"
    )]
    Empty {
        /// The last record known to be stored.
        synced: Seq,
    },
    /// It ends before a record that was stored: a backup, or the end was lost.
    #[error(
        "the journal ends at record {head}, but record {synced} was stored: if it is a restored backup run \
         `hubd adopt`, else `hubd doctor` tells more"
    )]
    Behind {
        /// Its last record.
        head: Seq,
        /// The last record known to be stored.
        synced: Seq,
    },
    /// It is not what was written.
    #[error(
        "the journal is broken at record {at} ({reason}): `hubd doctor` tells what can be saved, `hubd adopt` saves it"
    )]
    Broken {
        /// The first record that cannot be read.
        at: Seq,
        /// What is wrong.
        reason: String,
    },
    /// There are records, but not the file that says which must be there.
    #[error(
        "the file 'epoch' is missing or broken: put it back, or run `hubd adopt` to go on with what the journal holds"
    )]
    NoEpoch,
    /// What was stored last may have been in the write-ahead log only, and that is gone.
    #[error(
        "the file 'wal' is missing, and what was stored last may have been only there: put it back, or run `hubd adopt` \
         to go on with what the journal holds"
    )]
    NoLog,
    /// There is no journal but one whose place another took.
    #[error(
        "there is no journal, but one was put aside as 'journal.replaced': rename it to 'journal' and run `hubd adopt` to \
         go on with what it holds, or move it elsewhere to begin anew"
    )]
    PutAside,
    /// Written by a newer build.
    #[error(
        "the journal has format {found}; this version of hubd reads up to {known}: install a newer one"
    )]
    Unsupported {
        /// The format found.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// There is no room to open it.
    #[error("the disk is full: make room and start again")]
    Full,
    /// A system call failed.
    #[error("the journal could not be opened: {0}")]
    Io(io::Error),
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
    let store = open_store(&files, anchor.as_ref(), options.fences)?;
    let anchor = match anchor {
        Some(anchor) => anchor,
        None => begin(&store, &files, options.origin)?,
    };
    // sled may panic on what it does not expect to read.
    let checked = catch_unwind(AssertUnwindSafe(|| {
        check(&store, &anchor, &files, options.fences)
    }));
    let panicked = |_| {
        Err(OpenError::Broken {
            at: anchor.first,
            reason: "sled panicked while reading".into(),
        })
    };
    let end = checked.unwrap_or_else(panicked)?;
    // What a killed process wrote may be in the page cache only, and counts as stored from here on. sled syncs as it
    // opens where its last segment is not full, which is nearly always, and by chance.
    store.sync()?;
    let epoch_file = EpochFile::open(&files.epoch(), anchor)?;
    let shared = Shared {
        epoch: anchor.epoch,
        head: AtomicU64::new(end.tail.head),
        earliest: AtomicU64::new(anchor.first),
        bytes: AtomicU64::new(anchor.bytes + end.bytes_since),
        writer: Mutex::new(Writer {
            tail: end.tail,
            closed: false,
        }),
        store: RwLock::new(Some(store)),
        space: Space::new(files.reserve(), options.reserve_bytes, options.floor_bytes),
        fault: Mutex::new(None),
        epoch_file,
        options,
        files,
        _lock: lock.into_file(),
    };
    shared.mark()?;
    Ok(shared)
}

/// What must be there, if anything was ever written down.
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
    // sled would make an empty one in its place.
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
        // What a cut first start left of sled's settings; sled writes them anew.
        remove_file(&files.settings())?;
    }
    let open = || Store::open(&files.journal(), fences.fdatasync).map_err(sled_error);
    let store = match open() {
        Err(OpenError::Full) => {
            space::release(&files.reserve());
            open()?
        }
        result => result?,
    };
    durable::sync_dir(&files.root)?;
    Ok(store)
}

/// Makes the directory for its owner only, and takes away what sled stumbles over.
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

/// Writes down the identity of a new journal.
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

pub(in crate::journal) fn random_epoch() -> Result<Epoch, OpenError> {
    let random =
        getrandom::u64().map_err(|error| OpenError::Io(io::Error::other(error.to_string())))?;
    Ok(Epoch(random))
}

/// Compares what is there with what must be.
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
