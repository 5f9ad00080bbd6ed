//! Copies the verified records into a new journal: after a failed write, to shrink the file, and for `hubd adopt`.

use std::fs;
use std::io;
use std::path::PathBuf;

use hub_protocol::{Epoch, Seq};

use super::carve::Carved;
use super::copier::Copier;
use super::making::{Lock, Making, remove_all};
use super::open::{check, open_with_room, prepare, read_anchor, with_reserve};
#[cfg(target_os = "linux")]
use super::punch;
use super::untouched::Untouched;
use super::{Fences, Files, OpenError, free_bytes, readable, space};
use crate::core::durable;
use crate::log::journal::epoch::Anchor;
use crate::log::journal::snapshot;

/// The number of record numbers skipped above the last one that may have been used.
const GAP: Seq = 1_000_000;

/// The result of saving a journal's records.
#[derive(Debug, Clone)]
pub struct Rescued {
    /// The journal's new identity.
    pub epoch: Epoch,
    /// The first saved record; [`Rescued::next`] if none was saved.
    pub first: Seq,
    /// The last saved record; `first - 1` if none was saved.
    pub head: Seq,
    /// The last number that a record may already have.
    pub used: Seq,
    /// Why the records after `head` could not be saved; `None` if there are none.
    pub broken: Option<String>,
    /// The ranges (first, last) between `first` and `head` that could not be saved.
    pub holes: Vec<(Seq, Seq)>,
    /// The number of bytes of the journal that could not be read.
    pub unreadable: u64,
}

impl Rescued {
    /// Returns the number of the next record.
    pub fn next(&self) -> Seq {
        self.used + GAP
    }
}

/// The result of copying a journal.
#[derive(Debug, Default)]
pub(in crate::log::journal) struct Copied {
    /// The first copied record; 0 if none was copied.
    pub(in crate::log::journal) first: Seq,
    pub(super) first_chain: u32,
    /// The last copied record; 0 if none was copied.
    pub(in crate::log::journal) head: Seq,
    /// The chain after the last copied record.
    pub(in crate::log::journal) chain: u32,
    pub(super) bytes: u64,
    pub(super) records: u64,
    /// Why the later records were not copied; `None` if there are none.
    pub(in crate::log::journal) broken: Option<String>,
    /// The ranges (first, last) between the first and the last copied record that could not be read.
    pub(in crate::log::journal) holes: Vec<(Seq, Seq)>,
    /// The number of bytes of sled's file that could not be read.
    pub(in crate::log::journal) unreadable: u64,
    /// Whether the source could be opened.
    opened: bool,
}

impl Copied {
    fn is_whole(&self) -> bool {
        self.opened && self.broken.is_none() && self.holes.is_empty() && self.unreadable == 0
    }

    /// Whether the copy begins and ends as `wanted` requires; sled may omit the beginning or the end without an
    /// error.
    fn spans(&self, wanted: Option<&Anchor>) -> bool {
        let Some(wanted) = wanted else { return true };
        let is_empty = wanted.synced < wanted.first;
        is_empty || (self.begins(wanted) && self.head >= wanted.synced)
    }

    fn begins(&self, wanted: &Anchor) -> bool {
        (1..=wanted.first).contains(&self.first)
    }

    /// Whether this copy has more records than `other`. If `other` is a complete backup, which ends early without
    /// damage, additional records up to its end do not count, because retention had dropped them.
    fn has_more_than(&self, other: &Self, wanted: Option<&Anchor>) -> bool {
        let is_backup = other.is_whole()
            && wanted.is_some_and(|wanted| other.begins(wanted))
            && self.head <= other.head;
        self.records > other.records && !is_backup
    }

    /// Returns the anchor of a journal with the copied records, or of an empty one that begins with `first`.
    pub(in crate::log::journal) fn anchor(&self, epoch: Epoch, first: Seq) -> Anchor {
        Anchor {
            synced: self.head.max(first - 1),
            chain: self.chain,
            bytes: self.bytes,
            ..Anchor::empty(epoch, first, self.first_chain)
        }
    }
}

/// Copies the journal after a failed write, because the page cache may differ from the disk. Also copies it after a
/// loss of records, because sled would still read the damaged place.
pub(super) fn replace_suspect(lock: &Lock, fences: Fences) -> Result<(), OpenError> {
    tracing::warn!(
        "the last run could not write or read something: the journal is copied into a fresh directory"
    );
    with_reserve(lock.files(), || {
        replace(lock, fences, &[Source::InPlace, Source::Carved]).map(drop)
    })
}

/// Whether sled may have failed because of files that it derives from its data file.
pub(super) fn may_be_derived(error: &OpenError) -> bool {
    match error {
        OpenError::Broken { .. } | OpenError::Behind { .. } | OpenError::Empty { .. } => true,
        OpenError::Io(error) => is_io_damage(error),
        _ => false,
    }
}

/// Copies the journal from sled's data file alone, after sled refused it with `error`. Returns `error` unless the
/// copy is complete.
pub(super) fn replace_derived(
    lock: &Lock,
    fences: Fences,
    error: OpenError,
) -> Result<(), OpenError> {
    tracing::warn!(%error, "what sled derives from its file is left out, and the journal copied");
    match replace(lock, fences, &[Source::FileOnly, Source::Carved]) {
        Err(full @ OpenError::Full) => Err(full),
        replaced => replaced.map(drop).map_err(|_| error),
    }
}

/// Rewrites sled's file if it is much larger than its entries, because sled does not return the space of dropped
/// ones.
pub(super) fn shrink(lock: &Lock, anchor: &Anchor, fences: Fences) {
    let files = lock.files();
    let size = fs::metadata(files.db()).map_or(0, |file| file.len());
    if size < SMALL || size / space::SPARSE < anchor.bytes {
        return;
    }
    let (bytes, needed) = (anchor.bytes, SPARE + anchor.bytes + anchor.bytes / 2);
    if free_bytes(&files.reserve()) < needed {
        space::release(&files.reserve());
    }
    #[cfg(target_os = "linux")]
    if free_bytes(&files.reserve()) < needed
        && let Err(error) = punch::free_segments(files, fences)
    {
        tracing::warn!(%error, "the room of what was dropped could not be given back to the disk");
    }
    let free = free_bytes(&files.reserve());
    if free < needed {
        tracing::warn!(
            size,
            bytes,
            free,
            needed,
            "there is no room to write the journal's file anew: free some for the next start"
        );
        return;
    }
    tracing::info!(size, bytes, "the journal's file is written anew");
    match replace(lock, fences, &[Source::InPlace]) {
        Ok(Replaced { aside, whole: true }) => {
            let removed = aside.iter().try_for_each(|path| remove_all(path));
            if let Err(error) = removed {
                tracing::warn!(%error, "what was there before could not be removed");
            }
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the journal's file could not be written anew"),
    }
}

/// A file below this size in bytes is not rewritten.
const SMALL: u64 = 64 << 20;
/// Bytes of disk space that must stay free.
const SPARE: u64 = 3 << 20;

/// The result of replacing a journal.
struct Replaced {
    /// The paths of the replaced files.
    aside: Vec<PathBuf>,
    /// Whether the new journal has all records of the old one.
    whole: bool,
}

fn replace(lock: &Lock, fences: Fences, sources: &[Source]) -> Result<Replaced, OpenError> {
    let files = lock.files();
    let making = Making::begin(lock)?;
    let anchor = read_anchor(files)?;
    let begin = anchor.map(|anchor| (anchor.first, anchor.first_chain));
    let wanted = anchor.as_ref();
    let copied = copy_best(&making, sources, begin, wanted, fences)?;
    // The fold needs every record after its newest snapshot.
    let folded = snapshot::newest_seq(&files.snapshots());
    let needed = copied.holes.iter().find(|(_, to)| *to > folded);
    let lost = needed.map(|(from, _)| (*from, LOST.to_owned()));
    let whole = copied.is_whole();
    let broken = copied.broken.map(|reason| (copied.head + 1, reason));
    if let Some((at, reason)) = lost.or(broken) {
        return Err(OpenError::Broken { at, reason });
    }
    // sled may omit unreadable data without an error, so check the copy.
    if let Some(anchor) = anchor {
        let copy = open_with_room(&making.files().journal(), true)?;
        check(&copy, &anchor, files, fences)?;
    }
    let aside = making.put_in_place()?;
    Ok(Replaced { aside, whole })
}

/// Returns the last number that a record may already have, from the epoch file and the snapshots.
pub(in crate::log::journal) fn known_used(files: &Files) -> Result<Seq, OpenError> {
    let synced = match read_anchor(files) {
        Err(OpenError::NoEpoch) | Ok(None) => 0,
        Ok(Some(anchor)) => anchor.synced,
        Err(error) => return Err(error),
    };
    let snapshots = snapshot::list(&files.snapshots())?;
    Ok(snapshots
        .first()
        .map_or(synced, |(named, _)| synced.max(*named)))
}

/// The source of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The store in its own directory.
    InPlace,
    /// sled's data file alone, with zeros for unreadable bytes.
    FileOnly,
    /// The blocks found in sled's data file, without sled.
    Carved,
}

/// Copies all complete commits that can be read and verified.
pub(in crate::log::journal) fn copy_verified(
    making: &Making<'_>,
    fences: Fences,
) -> Result<Copied, OpenError> {
    let anchor = match read_anchor(making.replaces()) {
        Err(OpenError::NoEpoch) => None,
        anchor => anchor?,
    };
    let wanted = anchor.as_ref();
    let all = [Source::InPlace, Source::FileOnly, Source::Carved];
    match copy_best(making, &all, None, wanted, fences) {
        Err(OpenError::Unreadable { path, at, error }) => {
            tracing::warn!(%error, at, "{} cannot be read in places", path.display());
            copy_best(making, &all[1..], None, wanted, fences)
        }
        copied => copied,
    }
}

/// Copies from the first source that gives all records `wanted`; else keeps the copy with the most records.
fn copy_best(
    making: &Making<'_>,
    sources: &[Source],
    begin: Option<(Seq, u32)>,
    wanted: Option<&Anchor>,
    fences: Fences,
) -> Result<Copied, OpenError> {
    let (journal, aside) = (making.files().journal(), making.files().root.join("best"));
    let mut best: Option<Copied> = None;
    for source in sources {
        let opened = best
            .as_ref()
            .is_some_and(|best| best.opened && best.spans(wanted));
        // Skip this source if sled could open the store in place: it would read the same.
        if opened && *source == Source::FileOnly {
            continue;
        }
        remove_all(&journal)?;
        let copied = copy_keeping(making, *source, begin, wanted, fences)?;
        if copied.is_whole() && copied.spans(wanted) {
            remove_all(&aside)?;
            return Ok(copied);
        }
        if best
            .as_ref()
            .is_none_or(|best| copied.has_more_than(best, wanted))
        {
            remove_all(&aside)?;
            fs::rename(&journal, &aside)?;
            best = Some(copied);
        }
    }
    // Use the kept copy, because a failing disk may not return the data a second time.
    if best.is_some() {
        remove_all(&journal)?;
        fs::rename(&aside, &journal)?;
        durable::sync_dir(&making.files().root)?;
    }
    Ok(best.unwrap_or_default())
}

/// Copies from `source`. If the copy is incomplete, restores sled's files to their state before sled opened them.
fn copy_keeping(
    making: &Making<'_>,
    source: Source,
    begin: Option<(Seq, u32)>,
    wanted: Option<&Anchor>,
    fences: Fences,
) -> Result<Copied, OpenError> {
    if source != Source::InPlace {
        return copy_from(making, source, begin, fences);
    }
    let untouched = Untouched::take(making.replaces())?;
    let copied = copy_from(making, source, begin, fences);
    match &copied {
        Ok(copied) if copied.is_whole() && copied.spans(wanted) => untouched.discard()?,
        _ => untouched.restore()?,
    }
    copied
}

fn copy_from(
    making: &Making<'_>,
    source: Source,
    begin: Option<(Seq, u32)>,
    fences: Fences,
) -> Result<Copied, OpenError> {
    let target = making.files().journal();
    prepare(&target)?;
    let to = open_with_room(&target, true)?;
    let mut copied = Copied::default();
    let aside = making.files().root.join("source");
    // Without this check, sled would create an empty file.
    if making.replaces().db().exists() {
        let mut from = making.replaces().journal();
        if source == Source::Carved {
            let hint = match read_anchor(making.replaces()) {
                Ok(anchor) => anchor.map(|anchor| (anchor.first, anchor.first_chain)),
                Err(OpenError::NoEpoch) => None,
                Err(error) => return Err(error),
            };
            let carved = Carved::read(&making.replaces().db(), hint)?;
            copied.opened = true;
            copied.unreadable = carved.unreadable;
            Copier::new(&to, &mut copied, begin).run(&carved)?;
            to.sync()?;
            durable::sync_dir(&making.files().root)?;
            return Ok(copied);
        }
        if source == Source::FileOnly {
            copied.unreadable = readable::copy(&from, &aside)?;
            from.clone_from(&aside);
        }
        prepare(&from)?;
        match open_with_room(&from, fences.fdatasync) {
            Ok(from) => {
                copied.opened = true;
                Copier::new(&to, &mut copied, begin).run(&from)?;
            }
            Err(OpenError::Broken { reason, .. }) => copied.broken = Some(reason),
            Err(OpenError::Io(error)) if is_io_damage(&error) => {
                copied.broken = Some(error.to_string());
            }
            Err(error) => return Err(error),
        }
    } else {
        copied.opened = true;
    }
    to.sync()?;
    remove_all(&aside)?;
    durable::sync_dir(&making.files().root)?;
    Ok(copied)
}

/// Whether the stored data is damaged, rather than the storage unavailable. A copy then goes on without the damaged
/// part.
pub(super) fn is_damage(error: &::sled::Error) -> bool {
    match error {
        ::sled::Error::Io(error) => is_io_damage(error),
        _ => true,
    }
}

fn is_io_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData
    ) || error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// The error text for a lost record that no snapshot includes.
const LOST: &str = "it cannot be read, and no snapshot holds what it changed";
