//! Faults of a journal's files, and its reaction to each.

mod adopt;
mod child;
mod damage;
mod disk_full;
mod fixture;
mod lost_records;
mod power_cut;
#[path = "../small_disk.rs"]
mod small_disk;
mod sync;
mod trace;
mod unreadable;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hub_core::record::kinds;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::{OpenError, Options};
use hub_log::journal::{Entry, Journal, JournalError};
use hub_protocol::Seq;

/// Longer than any process takes from its fork to its exec.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns an entry. The journal reads the kind only to tell notifications from other records.
fn entry(seq: Seq, kind: u8, size: usize) -> Entry {
    let text = format!("record {seq} ");
    let payload = text.bytes().cycle().take(size).collect();
    Entry { seq, kind, payload }
}

/// Returns the entries that the journal must hold after `count` calls of [`publish`].
fn expected(count: u64) -> Vec<Entry> {
    let one = |seq| entry(seq, kinds::NOTIFIED, size_of(seq));
    (1..=count).map(one).collect()
}

fn size_of(seq: Seq) -> usize {
    [40, 700, 90, 2500, 300, 9000, 60][usize::try_from(seq).unwrap() % 7]
}

fn publish(journal: &dyn Journal) -> Result<Seq, JournalError> {
    let seq = journal.head() + 1;
    journal.append(&[entry(seq, kinds::NOTIFIED, size_of(seq))])?;
    Ok(seq)
}

fn acknowledge(journal: &dyn Journal) -> Result<(), JournalError> {
    journal.append(&[entry(journal.head() + 1, kinds::SETTLED, 60)])
}

/// Options with segments that a few records fill.
fn options() -> Options {
    Options {
        segment_bytes: 64 << 10,
        ..Options::default()
    }
}

/// Opens the journal, with retries: a child that another test has just forked holds the previous lock until its exec.
fn open(dir: &Path) -> Result<DiskJournal, OpenError> {
    let begun = Instant::now();
    loop {
        match DiskJournal::open(dir, options()) {
            Err(OpenError::Locked) if begun.elapsed() < PATIENCE => std::thread::yield_now(),
            opened => return opened,
        }
    }
}

/// Makes a closed journal of `count` records.
fn filled(dir: &Path, count: u64) {
    publish_times(&open(dir).unwrap(), count);
}

/// Makes a closed journal of `count` records in a new directory.
fn made(count: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), count);
    dir
}

fn publish_times(journal: &dyn Journal, count: u64) {
    for _ in 0..count {
        publish(journal).unwrap();
    }
}

/// Waits until the store was made anew after a failed write.
fn made_anew(dir: &Path, journal: &DiskJournal) {
    let begun = Instant::now();
    while journal.repairs().stores == 0 || dir.join("suspect").exists() {
        assert!(begun.elapsed() < PATIENCE, "the store is not made anew");
        std::thread::yield_now();
    }
}

/// Returns all entries of a journal, which must open.
fn reopened(dir: &Path) -> Vec<Entry> {
    all(&open(dir).unwrap()).unwrap()
}

/// Opens a journal, which must be refused with a message that contains `part`.
fn refused(dir: &Path, part: &str) -> OpenError {
    let error = open(dir).unwrap_err();
    assert!(error.to_string().contains(part), "{error}");
    error
}

fn all(journal: &dyn Journal) -> Result<Vec<Entry>, JournalError> {
    let mut found = Vec::new();
    let mut at = journal.earliest();
    while at <= journal.head() {
        found.extend(journal.read(at, 1 << 16)?);
        at = found.last().map_or(at, |entry| entry.seq) + 1;
    }
    Ok(found)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Calls `look` with copies of the directory `sound` that have one flipped bit each in `file`, and with its byte.
fn flipped(sound: &Path, file: &str, count: usize, mut look: impl FnMut(&Path, usize)) {
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("broken");
    let bytes = fs::read(sound.join(file)).unwrap();
    for step in 0..count {
        copy(sound, &broken);
        let at = bytes.len() * step / count + step % 7;
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (step % 8);
        fs::write(broken.join(file), bytes).unwrap();
        look(&broken, at);
        fs::remove_dir_all(&broken).unwrap();
    }
}
