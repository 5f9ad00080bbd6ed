//! `hubd adopt`: makes a journal with a new identity from the readable records of the old one: a restored backup, or what is
//! left if both copies lost the newest records or the epoch file.

use std::io;

use hub_core::durable;
use hub_protocol::{Epoch, Seq};

use super::frame::Frame;
use super::segments::{Segments, missing};
use super::store::{READ_BYTES, Run};
use super::{DiskJournal, migrate};
use crate::journal::sled::{Donor, Files, JournalOrigin, OpenError, Options, StagedJournal};
use crate::journal::sled::{random_epoch, read_anchor};
use crate::journal::snapshot::{self, Snapshots};
use crate::journal::{Entry, Journal as _, JournalError};

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
    /// The ranges (first, last) between `first` and `head` that could not be saved.
    pub lost_ranges: Vec<(Seq, Seq)>,
}

impl AdoptedRecords {
    /// Returns the number of the next record.
    pub fn next(&self) -> Seq {
        self.used + GAP
    }
}

/// Makes a journal with a new identity from the records that can be verified in the existing segments, store, write-ahead
/// log and snapshots. The caller continues numbering from [`AdoptedRecords::next`].
pub fn adopt(
    staged: &StagedJournal<'_>,
    options: Options,
) -> Result<(DiskJournal, AdoptedRecords), OpenError> {
    let files = staged.replaces();
    if files.are_only_replaced()? {
        return Err(OpenError::Replaced);
    }
    let old = OldJournal::open(files, options)?;
    let mut adopted = AdoptedRecords {
        epoch: random_epoch()?,
        first: 0,
        head: 0,
        used: old.used(files)?,
        lost_ranges: Vec::new(),
    };
    let begin = old.next(old.first)?;
    let begin = begin.map(|first| Ok::<_, JournalError>((first, old.run(first)?.chain)));
    let (first, chain) = begin.transpose()?.unwrap_or((adopted.next(), 0));
    (adopted.first, adopted.head) = (first, first - 1);
    let origin = JournalOrigin {
        epoch: adopted.epoch,
        first,
        chain,
    };
    let options = Options {
        origin: Some(origin),
        ..options
    };
    let journal = DiskJournal::open(&staged.files().root, options)?;
    old.copy(&journal, &mut adopted)?;
    if adopted.head >= adopted.first {
        adopted.used = adopted.used.max(adopted.head);
    }
    keep_snapshots(staged, &adopted)?;
    Ok((journal, adopted))
}

/// The readable parts of the old journal.
struct OldJournal {
    segments: Segments,
    store: Option<Donor>,
    /// The commits of a write-ahead log.
    log: Vec<Frame>,
    /// The first record that the epoch file requires.
    first: Seq,
    synced: Seq,
}

impl OldJournal {
    fn open(files: &Files, options: Options) -> Result<Self, OpenError> {
        let anchor = match read_anchor(files) {
            Err(OpenError::NoEpoch) => None,
            anchor => anchor?,
        };
        let epoch = anchor.map(|it| it.epoch);
        let segments = Segments::open(files, epoch, options.segment_bytes, true)?;
        let log = migrate::read_log(files, epoch)?.unwrap_or_default();
        Ok(Self {
            segments,
            store: Donor::open(files, options)?,
            log,
            first: anchor.map_or(1, |it| it.first),
            synced: anchor.map_or(0, |it| it.synced.max(it.logged)),
        })
    }

    /// Returns the last number that a record may already have, from the epoch file and the snapshots.
    fn used(&self, files: &Files) -> io::Result<Seq> {
        let snapshots = snapshot::list(&*files.disk, &files.snapshots())?;
        let named = snapshots.first().map_or(0, |(named, _)| *named);
        let logged = self.log.last().map_or(0, Frame::last);
        Ok(named.max(self.synced).max(logged))
    }

    /// Returns the first record from `from` on that can be read.
    fn next(&self, from: Seq) -> Result<Option<Seq>, JournalError> {
        let in_log = self.log.iter().find(|it| it.last() >= from);
        // Records that sled cannot read are lost, whatever the error is.
        let in_store = self.store.as_ref().map(|it| it.next_readable(from));
        let found = [
            self.segments.next_readable(from)?,
            in_log.map(|it| it.first().max(from)),
            in_store.and_then(Result::ok).flatten(),
        ];
        Ok(found.into_iter().flatten().min())
    }

    fn run(&self, at: Seq) -> Result<Run, JournalError> {
        let unreadable = |_| missing(at);
        let mut found = self.segments.run(at, Seq::MAX - 1, READ_BYTES);
        if let (Err(_), Some(store)) = (&found, &self.store) {
            found = store.run(at, READ_BYTES).map_err(unreadable);
        }
        if found.is_err() {
            found = { self.log.iter() }
                .find(|it| (it.first()..=it.last()).contains(&at))
                .and_then(|it| run_of(it, at))
                .ok_or_else(|| missing(at));
        }
        found
    }

    fn copy(
        &self,
        journal: &DiskJournal,
        adopted: &mut AdoptedRecords,
    ) -> Result<(), JournalError> {
        let mut chain = None;
        while let Some(at) = self.next(adopted.head + 1)? {
            let Ok(run) = self.run(at) else {
                // It begins in the middle of what is left of a commit.
                adopted.head = at;
                continue;
            };
            let first = run.entries[0].seq;
            let next = journal.head().max(adopted.first - 1) + 1;
            if first > next && chain.is_some_and(|chain| chain != run.chain) {
                adopted.lost_ranges.push((next, first - 1));
            }
            let end = run.end();
            journal.append_run(&run)?;
            (adopted.head, chain) = (end.0, Some(end.1));
        }
        adopted.head = journal.head();
        // Only the store records a gap.
        journal.copy_all(|_| ())
    }
}

/// Returns the records of a commit from `from` on.
fn run_of(frame: &Frame, from: Seq) -> Option<Run> {
    let chain = frame.chain_at(from - 1)?;
    let entries = frame.entries.iter().filter(|it| it.seq >= from);
    let entries: Vec<Entry> = entries.cloned().collect();
    Some(Run { chain, entries })
}

/// Copies the snapshots under the new identity, except those that are newer than the saved records or end before
/// them.
fn keep_snapshots(staged: &StagedJournal<'_>, adopted: &AdoptedRecords) -> io::Result<()> {
    let (dir, disk) = (staged.files().snapshots(), &*staged.files().disk);
    // Create the directory even without snapshots, so that it replaces the old one.
    durable::private_dir(&dir)?;
    let snapshots = Snapshots::new(&dir, adopted.epoch);
    for (_, path) in snapshot::list(disk, &staged.replaces().snapshots())?
        .iter()
        .rev()
    {
        match snapshot::read(disk, path) {
            Ok(it) if it.seq <= adopted.head && it.seq + 1 >= adopted.first => {
                snapshots.save(it.seq, &it.payload)?;
            }
            _ => {}
        }
    }
    Ok(())
}
