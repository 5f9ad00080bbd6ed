//! A model of what sled promises with the protections around it: a commit is stored as a whole and durably, or not at all.
//! It may lose a record later. The epoch file beside it is the real one.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use hub_core::disk::Disk as _;
use hub_core::record::kinds;
use hub_core::sync;
use hub_log::journal::disk::{Run, Store, frame};
use hub_log::journal::epoch::{Anchor, EpochFile};
use hub_log::journal::sled::{self, Files, JournalOrigin, LostRanges, OpenError};
use hub_log::journal::{Entry, Health, JournalError};
use hub_protocol::{Epoch, Seq};

use crate::disk::{ProcessDisk, SimDisk};
use crate::rng::Rng;

/// The identity of every simulated journal.
pub(crate) const EPOCH: Epoch = Epoch(7);
/// The most entries that one trim drops.
const TRIMMED: usize = 64;

/// The durable part of the store, which outlives its process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stored(Arc<Mutex<BTreeMap<Seq, Link>>>);

/// A stored record, and the chain after it.
#[derive(Debug)]
struct Link {
    entry: Entry,
    chain: u32,
}

impl Stored {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<Seq, Link>> {
        sync::lock(&self.0)
    }

    /// Returns the last record.
    pub(crate) fn last(&self) -> Seq {
        self.entries().keys().next_back().copied().unwrap_or(0)
    }

    /// Damages one of the two copies of a record: that in the store, or that in a segment of which the store has all records.
    /// Returns false if there is none.
    pub(crate) fn lose_a_copy(&self, disk: &SimDisk, rng: &mut Rng) -> bool {
        if rng.chance(50) {
            self.lose(rng).is_some()
        } else {
            disk.flip_segment(self.last())
        }
    }

    /// Loses a record but not the last one. Returns which.
    fn lose(&self, rng: &mut Rng) -> Option<Seq> {
        let mut entries = self.entries();
        let seqs: Vec<Seq> = entries.keys().copied().collect();
        let (_, seqs) = seqs.split_last()?;
        let lost = *seqs.get(rng.index(seqs.len().max(1)))?;
        entries.remove(&lost);
        Some(lost)
    }
}

/// The open store of one process.
#[derive(Debug)]
pub(crate) struct ModelStore {
    disk: Arc<ProcessDisk>,
    stored: Stored,
    files: Files,
    epoch_file: EpochFile,
    end: Mutex<(Seq, u32)>,
    damage: Mutex<Option<String>>,
    lost: LostRanges,
    low: AtomicBool,
    fault: Mutex<Option<Health>>,
}

fn failure(what: &str) -> JournalError {
    io::Error::other(what.to_owned()).into()
}

impl ModelStore {
    /// Opens what is `stored`, or begins a journal at `origin`.
    pub(crate) fn open(
        files: &Files,
        disk: Arc<ProcessDisk>,
        stored: Stored,
        origin: Option<JournalOrigin>,
    ) -> Result<Self, OpenError> {
        for path in disk.list(&files.root)? {
            if path.extension().is_some_and(|it| it == "tmp") {
                disk.remove(&path)?;
            }
        }
        let anchor = Self::anchor(files, &disk, &stored, origin)?;
        let before = (anchor.first - 1, anchor.first_chain);
        let (count, stored_end) = {
            let mut entries = stored.entries();
            *entries = entries.split_off(&anchor.first);
            let last = entries.last_key_value();
            (
                entries.len(),
                last.map_or(before, |(seq, it)| (*seq, it.chain)),
            )
        };
        let is_whole = count as u64 == stored_end.0 - before.0;
        let mut damage = (!is_whole).then(|| "a record is missing".to_owned());
        if disk.is_there(&files.suspect())? {
            damage = Some("the last run failed".into());
        }
        let end = if damage.is_some() { before } else { stored_end };
        Ok(Self {
            epoch_file: EpochFile::open(&*disk, &files.epoch(), anchor)?,
            files: files.clone(),
            end: Mutex::new(end),
            damage: Mutex::new(damage),
            lost: LostRanges::default(),
            low: AtomicBool::new(false),
            fault: Mutex::new(None),
            disk,
            stored,
        })
    }

    fn anchor(
        files: &Files,
        disk: &ProcessDisk,
        stored: &Stored,
        origin: Option<JournalOrigin>,
    ) -> Result<Anchor, OpenError> {
        if let Some(anchor) = sled::read_anchor(files)? {
            return Ok(anchor);
        }
        if !stored.entries().is_empty() {
            return Err(OpenError::NoEpoch);
        }
        let (first, chain) = origin.map_or((1, 0), |it| (it.first, it.chain));
        let anchor = Anchor::empty(EPOCH, first, chain);
        EpochFile::create(disk, &files.epoch(), anchor)?;
        Ok(anchor)
    }

    fn fail(&self, error: &JournalError) {
        let text = format!("{error}\n");
        let _ = { &self.disk }.replace(&self.files.suspect(), &[text.as_bytes()]);
        let failed = Health::Failed(error.to_string());
        sync::lock(&self.fault).get_or_insert(failed);
    }

    fn refuse_after_fault(&self) -> Result<(), JournalError> {
        match self.fault() {
            Some(Health::Failed(reason)) => Err(failure(&reason)),
            _ => Ok(self.check_place()?),
        }
    }

    fn release_reserve(&self) {
        self.disk.release_reserve();
        self.low.store(true, Ordering::Relaxed);
    }

    fn fault(&self) -> Option<Health> {
        sync::lock(&self.fault).clone()
    }
}

fn is_publish(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.kind == kinds::NOTIFIED)
}

impl Store for ModelStore {
    fn epoch_file(&self) -> &EpochFile {
        &self.epoch_file
    }

    fn head(&self) -> Seq {
        self.end().0
    }

    fn end(&self) -> (Seq, u32) {
        *sync::lock(&self.end)
    }

    fn mark(&self) {
        if self.fault().is_some() {
            return;
        }
        if let Err(error) = self.epoch_file.mark() {
            self.fail(&error.into());
        }
        self.health();
    }

    fn admit(&self, entries: &[Entry]) -> Result<(), JournalError> {
        self.refuse_after_fault()?;
        // The free space is known to be short, or the write finds out.
        if is_publish(entries) && self.disk.is_full() && self.disk.chance(50) {
            self.low.store(true, Ordering::Relaxed);
        }
        match self.health() {
            Health::Full if is_publish(entries) => Err(JournalError::Full),
            _ => Ok(()),
        }
    }

    fn store(&self, run: &Run) -> Result<(), JournalError> {
        self.refuse_after_fault()?;
        if self.disk.is_full() && self.disk.chance(30) {
            self.release_reserve();
            return Err(JournalError::Full);
        }
        let fails = self.disk.fails();
        if fails && self.disk.chance(50) {
            let error = failure("the simulated store failed");
            self.fail(&error);
            return Err(error);
        }
        let entries = &run.entries[..];
        let mut end = sync::lock(&self.end);
        assert!(
            (entries[0].seq, run.chain) == (end.0 + 1, end.1),
            "the store gets entries in order"
        );
        let mut chain = end.1;
        for entry in entries {
            let entry = entry.clone();
            (_, chain) = frame::encode(EPOCH, chain, std::slice::from_ref(&entry));
            let link = Link { entry, chain };
            self.stored.entries().insert(link.entry.seq, link);
        }
        if fails {
            // It was stored, and its process does not learn that.
            drop(end);
            let error = failure("the simulated store failed");
            self.fail(&error);
            return Err(error);
        }
        *end = (entries[entries.len() - 1].seq, chain);
        Ok(())
    }

    fn run(&self, from: Seq, to: Seq, max_bytes: usize) -> Result<Run, JournalError> {
        self.check_place()?;
        let stored = self.stored.entries();
        let anchor = self.epoch_file.last();
        let before = stored.range(anchor.first..from);
        let (mut entries, mut size) = (Vec::new(), 0);
        for (seq, Link { entry, .. }) in stored.range(from..=to.max(from)) {
            size += entry.payload.len();
            let follows = *seq == from + entries.len() as u64;
            if !follows || (size > max_bytes && !entries.is_empty()) {
                break;
            }
            entries.push(entry.clone());
        }
        let chain = before.clone().next_back().map(|(_, it)| it.chain);
        let is_whole = before.count() as u64 == from - anchor.first;
        if entries.is_empty() || !is_whole {
            // The chain is not known behind a lost record.
            let reason = "the simulated store lacks it".into();
            return Err(JournalError::Corrupt { at: from, reason });
        }
        let chain = chain.unwrap_or(anchor.first_chain);
        Ok(Run { chain, entries })
    }

    fn next_readable(&self, from: Seq, to: Seq) -> Result<Option<Seq>, JournalError> {
        self.check_place()?;
        let stored = self.stored.entries();
        let first = self.epoch_file.last().first;
        let whole = { stored.range(first..).zip(first..) }.take_while(|((seq, _), at)| *seq == at);
        let last = whole.last().map_or(first - 1, |(_, at)| at);
        // As in `run`: nothing behind a lost record.
        Ok((from <= last.min(to)).then_some(from.max(first)))
    }

    fn lost(&self) -> &LostRanges {
        &self.lost
    }

    fn trim(&self, below: Seq) -> Result<(), JournalError> {
        self.refuse_after_fault()?;
        let below = below.min(self.head());
        let (mut count, mut bytes, mut end) = (0, 0, None);
        for (seq, Link { entry, chain }) in self.stored.entries().range(..below).take(TRIMMED) {
            (count, bytes) = (count + 1, bytes + entry.payload.len() as u64 + 5);
            end = Some((*seq, *chain));
        }
        let Some((last, first_chain)) = end else {
            return Ok(());
        };
        let first = last + 1;
        if count != first - self.epoch_file.earliest() {
            self.report_damage("a record is missing".into());
            return Ok(());
        }
        self.epoch_file.begin_at(first, first_chain, bytes)?;
        self.stored.entries().retain(|seq, _| *seq >= first);
        Ok(())
    }

    fn damage(&self) -> Option<String> {
        sync::lock(&self.damage).clone()
    }

    fn report_damage(&self, reason: String) {
        sync::lock(&self.damage).get_or_insert(reason);
    }

    fn renew(&self) -> Result<(), JournalError> {
        self.refuse_after_fault()?;
        let anchor = self.epoch_file.last();
        let mut end = sync::lock(&self.end);
        self.stored.entries().clear();
        *end = (anchor.first - 1, anchor.first_chain);
        drop(end);
        if self.disk.is_there(&self.files.suspect())? {
            self.disk.remove(&self.files.suspect())?;
            self.disk.sync(&self.files.root)?;
        }
        *sync::lock(&self.damage) = None;
        Ok(())
    }

    fn health(&self) -> Health {
        if let Some(fault) = self.fault() {
            return fault;
        }
        if !self.disk.is_full() {
            self.low.store(false, Ordering::Relaxed);
        }
        if self.low.load(Ordering::Relaxed) {
            Health::Full
        } else {
            Health::Sound
        }
    }

    fn report(&self, fault: Health) {
        sync::lock(&self.fault).get_or_insert(fault);
    }

    /// Fails if its process has ended.
    fn check_place(&self) -> io::Result<()> {
        if self.disk.lives() {
            Ok(())
        } else {
            Err(io::Error::other("the simulated machine is off"))
        }
    }

    fn handle_failed_log_write(&self, error: &JournalError) {
        match error {
            JournalError::Full => self.release_reserve(),
            _ => self.fail(error),
        }
    }

    fn close(&self) -> Result<(), JournalError> {
        self.refuse_after_fault()?;
        Ok(self.epoch_file.mark()?)
    }
}

/// The files of every simulated hub.
pub(crate) fn files(disk: &Arc<ProcessDisk>) -> Files {
    Files::on(Arc::clone(disk) as Arc<_>, Path::new("/hub"))
}
