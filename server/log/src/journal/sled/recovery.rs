//! Copies the verified records into a new journal: after a failed write, because the page cache may differ from the disk;
//! after a loss of records, because sled would still read the damaged place; and for `hubd adopt`.
//!
//! The records are read from sled. If sled cannot open or does not return all records, they are read from sled's data
//! file without the files that sled derives from it, and then from the blocks that are found in the file by their
//! checksums and that chain ([`salvage`]). A block of its own kind stands for lost records in the copy. If no snapshot
//! contains their effects, the journal is refused until `hubd adopt`. The copy replaces the journal as [`staging`]
//! describes, and the replaced files are kept.
//!
//! [`staging`]: super::staging

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hub_core::durable;
use hub_protocol::{Epoch, Seq};

use super::open::{check, open_with_room, prepare, read_anchor, with_reserve};
use super::staging::{DirLock, StagedJournal, remove_all};
use super::store::BlockStore;
use super::{DurabilityChecks, Files, OpenError, PreOpenBackup, data_file};
use crate::journal::epoch::Anchor;
use crate::journal::snapshot;
use copy::BlockCopier;
use salvage::SalvagedBlocks;

mod copy;
#[cfg(target_os = "linux")]
mod hole_punch;
mod salvage;
mod shrink;

pub(crate) use shrink::shrink;

/// The error text for a lost record that no snapshot includes.
const LOST: &str = "the record is unreadable and newer than every snapshot";
/// The number of record numbers skipped above the last one that may have been used.
const GAP: Seq = 1_000_000;

/// The result of saving a journal's records.
#[derive(Debug, Clone)]
pub struct AdoptedRecords {
    /// The journal's new identity.
    pub epoch: Epoch,
    /// The first saved record; [`AdoptedRecords::next`] if none was saved.
    pub first: Seq,
    /// The last saved record; `first - 1` if none was saved.
    pub head: Seq,
    /// The last number that a record may already have.
    pub used: Seq,
    /// Why the records after `head` could not be saved; `None` if there are none.
    pub broken: Option<String>,
    /// The ranges (first, last) between `first` and `head` that could not be saved.
    pub lost_ranges: Vec<(Seq, Seq)>,
    /// The number of bytes of the journal that could not be read.
    pub unreadable: u64,
}

impl AdoptedRecords {
    /// Returns the number of the next record.
    pub fn next(&self) -> Seq {
        self.used + GAP
    }
}

/// The result of copying a journal.
#[derive(Debug, Default)]
pub(crate) struct CopiedRecords {
    /// The first copied record; 0 if none was copied.
    pub(crate) first: Seq,
    pub(crate) first_chain: u32,
    /// The last copied record; 0 if none was copied.
    pub(crate) head: Seq,
    /// The chain after the last copied record.
    pub(crate) chain: u32,
    pub(crate) bytes: u64,
    pub(crate) records: u64,
    /// Why the later records were not copied; `None` if there are none.
    pub(crate) broken: Option<String>,
    /// The ranges (first, last) between the first and the last copied record that could not be read.
    pub(crate) lost_ranges: Vec<(Seq, Seq)>,
    /// The number of bytes of sled's file that could not be read.
    pub(crate) unreadable: u64,
    /// Whether the source could be opened.
    opened: bool,
}

impl CopiedRecords {
    fn is_whole(&self) -> bool {
        self.opened && self.broken.is_none() && self.lost_ranges.is_empty() && self.unreadable == 0
    }

    /// Whether the copy begins and ends as `required` says; sled may omit the beginning or the end without an
    /// error.
    fn spans(&self, required: Option<&Anchor>) -> bool {
        let Some(required) = required else {
            return true;
        };
        let is_empty = required.synced < required.first;
        is_empty || (self.begins(required) && self.head >= required.synced)
    }

    fn begins(&self, required: &Anchor) -> bool {
        (1..=required.first).contains(&self.first)
    }

    /// Whether this copy has more records than `other`. If `other` is a complete backup, which ends early without
    /// damage, additional records up to its end do not count, because retention had dropped them.
    fn has_more_than(&self, other: &Self, required: Option<&Anchor>) -> bool {
        let is_backup = other.is_whole()
            && required.is_some_and(|required| other.begins(required))
            && self.head <= other.head;
        self.records > other.records && !is_backup
    }

    /// Returns the anchor of a journal with the copied records, or of an empty one that begins with `first`.
    pub(crate) fn anchor(&self, epoch: Epoch, first: Seq) -> Anchor {
        Anchor {
            synced: self.head.max(first - 1),
            chain: self.chain,
            bytes: self.bytes,
            ..Anchor::empty(epoch, first, self.first_chain)
        }
    }
}

/// Copies the journal after a failed write or a loss of records.
pub(crate) fn replace_suspect(lock: &DirLock, checks: DurabilityChecks) -> Result<(), OpenError> {
    tracing::warn!(
        "the last run could not write or read something: the journal is copied into a fresh directory"
    );
    with_reserve(lock.files(), || {
        replace(lock, checks, &[CopySource::InPlace, CopySource::Salvaged]).map(drop)
    })
}

/// Whether sled may have failed because of files that it derives from its data file.
pub(crate) fn may_be_derived(error: &OpenError) -> bool {
    match error {
        OpenError::Broken { .. } | OpenError::Behind { .. } | OpenError::Empty { .. } => true,
        OpenError::Io(error) => is_io_damage(error),
        _ => false,
    }
}

/// Copies the journal from sled's data file alone, after sled refused it with `error`. Returns `error` unless the
/// copy is complete.
pub(crate) fn replace_derived(
    lock: &DirLock,
    checks: DurabilityChecks,
    error: OpenError,
) -> Result<(), OpenError> {
    tracing::warn!(%error, "the journal is copied without the data that sled derives from its file");
    match replace(lock, checks, &[CopySource::DataFile, CopySource::Salvaged]) {
        Err(full @ OpenError::Full) => Err(full),
        replaced => replaced.map(drop).map_err(|_| error),
    }
}

/// The result of replacing a journal.
struct Replaced {
    /// The paths of the replaced files.
    aside: Vec<PathBuf>,
    /// Whether the new journal has all records of the old one.
    whole: bool,
}

fn replace(
    lock: &DirLock,
    checks: DurabilityChecks,
    sources: &[CopySource],
) -> Result<Replaced, OpenError> {
    let files = lock.files();
    let staged = StagedJournal::begin(lock)?;
    let anchor = read_anchor(files)?;
    let job = CopyJob {
        staged: &staged,
        begin: anchor.map(|anchor| (anchor.first, anchor.first_chain)),
        required: anchor,
        checks,
    };
    let copied = job.copy_best(sources)?;
    // The fold needs every record after its newest snapshot.
    let folded = snapshot::newest_seq(&files.snapshots());
    let needed = copied.lost_ranges.iter().find(|(_, to)| *to > folded);
    let lost = needed.map(|(from, _)| (*from, LOST.to_owned()));
    let whole = copied.is_whole();
    let broken = copied.broken.map(|reason| (copied.head + 1, reason));
    if let Some((at, reason)) = lost.or(broken) {
        return Err(OpenError::Broken { at, reason });
    }
    // sled may omit unreadable data without an error, so check the copy.
    if let Some(anchor) = anchor {
        let copy = open_with_room(&staged.files().journal(), true)?;
        check(&copy, &anchor, files, checks)?;
    }
    let aside = staged.install()?;
    Ok(Replaced { aside, whole })
}

/// Returns the last number that a record may already have, from the epoch file and the snapshots.
pub(crate) fn known_used(files: &Files) -> Result<Seq, OpenError> {
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
enum CopySource {
    /// The store in its own directory.
    InPlace,
    /// sled's data file alone, with zeros for unreadable bytes.
    DataFile,
    /// The blocks found in sled's data file, without sled.
    Salvaged,
}

/// Copies all complete commits that can be read and verified.
pub(crate) fn copy_verified(
    staged: &StagedJournal<'_>,
    checks: DurabilityChecks,
) -> Result<CopiedRecords, OpenError> {
    let required = match read_anchor(staged.replaces()) {
        Err(OpenError::NoEpoch) => None,
        anchor => anchor?,
    };
    let job = CopyJob {
        staged,
        begin: None,
        required,
        checks,
    };
    let all = [
        CopySource::InPlace,
        CopySource::DataFile,
        CopySource::Salvaged,
    ];
    match job.copy_best(&all) {
        Err(OpenError::Unreadable { path, at, error }) => {
            tracing::warn!(%error, at, "{} cannot be read in places", path.display());
            job.copy_best(&all[1..])
        }
        copied => copied,
    }
}

/// A copy of a journal, from the best of several sources.
struct CopyJob<'a> {
    staged: &'a StagedJournal<'a>,
    /// The record at which the copy must begin, and the chain before it; `None` accepts any beginning.
    begin: Option<(Seq, u32)>,
    /// The anchor of the epoch file, whose records the copy must have; `None` without that file.
    required: Option<Anchor>,
    checks: DurabilityChecks,
}

impl CopyJob<'_> {
    /// Copies from the first source that gives all required records; else keeps the copy with the most records.
    fn copy_best(&self, sources: &[CopySource]) -> Result<CopiedRecords, OpenError> {
        let files = self.staged.files();
        let (journal, aside) = (files.journal(), files.root.join("best"));
        let required = self.required.as_ref();
        let mut best: Option<CopiedRecords> = None;
        for source in sources {
            let is_opened = |best: &CopiedRecords| best.opened && best.spans(required);
            // Skip this source if sled could open the store in place: it would read the same.
            if *source == CopySource::DataFile && best.as_ref().is_some_and(is_opened) {
                continue;
            }
            remove_all(&journal)?;
            let copied = self.copy_keeping(*source)?;
            if copied.is_whole() && copied.spans(required) {
                remove_all(&aside)?;
                return Ok(copied);
            }
            if { best.as_ref() }.is_none_or(|best| copied.has_more_than(best, required)) {
                remove_all(&aside)?;
                fs::rename(&journal, &aside)?;
                best = Some(copied);
            }
        }
        // Use the kept copy, because a failing disk may not return the data a second time.
        if best.is_some() {
            remove_all(&journal)?;
            fs::rename(&aside, &journal)?;
            durable::sync_dir(&files.root)?;
        }
        Ok(best.unwrap_or_default())
    }

    /// Copies from `source`. If the copy is incomplete, restores sled's files to their state before sled opened them.
    fn copy_keeping(&self, source: CopySource) -> Result<CopiedRecords, OpenError> {
        if source != CopySource::InPlace {
            return self.copy_from(source);
        }
        let backup = PreOpenBackup::take(self.staged.replaces())?;
        let copied = self.copy_from(source);
        match &copied {
            Ok(copied) if copied.is_whole() && copied.spans(self.required.as_ref()) => {
                backup.discard()?;
            }
            _ => backup.restore()?,
        }
        copied
    }

    fn copy_from(&self, source: CopySource) -> Result<CopiedRecords, OpenError> {
        let (old, new) = (self.staged.replaces(), self.staged.files());
        prepare(&new.journal())?;
        let to = open_with_room(&new.journal(), true)?;
        let mut copied = CopiedRecords::default();
        let data_file_only = new.root.join("source");
        // Without this check, sled would create an empty file.
        if old.db().exists() {
            match source {
                CopySource::InPlace => self.copy_store(&old.journal(), &to, &mut copied)?,
                CopySource::DataFile => {
                    copied.unreadable = data_file::copy(&old.journal(), &data_file_only)?;
                    self.copy_store(&data_file_only, &to, &mut copied)?;
                }
                CopySource::Salvaged => {
                    let hint = self
                        .required
                        .map(|anchor| (anchor.first, anchor.first_chain));
                    let blocks = SalvagedBlocks::read(&old.db(), hint)?;
                    (copied.opened, copied.unreadable) = (true, blocks.unreadable);
                    BlockCopier::new(&to, &mut copied, self.begin).run(&blocks)?;
                }
            }
        } else {
            copied.opened = true;
        }
        to.sync()?;
        remove_all(&data_file_only)?;
        durable::sync_dir(&new.root)?;
        Ok(copied)
    }

    /// Copies the store in the directory `from`, which sled may be unable to open.
    fn copy_store(
        &self,
        from: &Path,
        to: &BlockStore,
        copied: &mut CopiedRecords,
    ) -> Result<(), OpenError> {
        prepare(from)?;
        match open_with_room(from, self.checks.fdatasync) {
            Ok(from) => {
                copied.opened = true;
                BlockCopier::new(to, copied, self.begin).run(&from)?;
            }
            Err(OpenError::Broken { reason, .. }) => copied.broken = Some(reason),
            Err(OpenError::Io(error)) if is_io_damage(&error) => {
                copied.broken = Some(error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Whether the stored data is damaged, rather than the storage unavailable. A copy then continues without the damaged
/// part.
pub(crate) fn is_damage(error: &::sled::Error) -> bool {
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
