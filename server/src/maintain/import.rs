//! `hubd import`: creates a journal from an export.

use std::io::BufRead;
use std::path::Path;

use anyhow::{Context as _, ensure};
use hub_core::secret::hex;
use hub_log::archive::recover;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::{DirLock, JournalOrigin, OpenError, Options, StagedJournal};
use hub_log::journal::{Entry, Journal};
use sha2::{Digest, Sha256};

use super::lines::{ExportHeader, ExportLine, FORMAT};
use super::{bar, hash, snapshots};

/// The format without a hash of its lines.
const WITHOUT_LINES: u32 = 1;
/// The number of payload bytes after which a commit is written.
const COMMIT: usize = 256 * 1024;

/// Creates the journal of `state_dir`, which must have none, from the export `input` of `size` bytes. It imports all
/// records or none.
pub(super) fn import(
    state_dir: &Path,
    input: impl BufRead,
    size: Option<u64>,
) -> anyhow::Result<()> {
    // Hold the lock from this check to the end, so that no hub creates a journal meanwhile.
    let lock = DirLock::take(state_dir)?;
    let files = lock.files();
    let taken = [
        files.journal(),
        files.epoch(),
        files.snapshots(),
        files.segments(),
        files.wal(),
    ];
    if let Some(path) = taken.iter().find(|path| path.exists()) {
        anyhow::bail!(
            "{} exists: import only into a state directory without a journal",
            path.display()
        );
    }
    let staged = StagedJournal::begin(&lock)?;
    let done = fill(&staged.files().root, input, size)?;
    staged.install()?;
    eprintln!("{done}");
    Ok(())
}

/// Fills a new journal in `dir`. Returns the message to print when the journal is in place.
fn fill(dir: &Path, mut input: impl BufRead, size: Option<u64>) -> anyhow::Result<String> {
    let bar = bar(size.unwrap_or(0), "importing");
    let mut digest = Sha256::new();
    let begin = read_begin(&mut input, &mut digest)?;
    let journal = open(dir, &begin)?;
    let snapshots = snapshots(dir, &journal);
    let mut commit = ImportCommit::default();
    let (mut sha256, mut lines) = (None, None);
    for (number, text) in (2..).zip(input.lines()) {
        let text = text?;
        bar.inc(text.len() as u64 + 1);
        let line: ExportLine =
            serde_json::from_str(&text).with_context(|| format!("line {number}"))?;
        if let Some(entry) = line.entry().with_context(|| format!("line {number}"))? {
            commit.add(&journal, entry)?;
        } else if let (Some(seq), Some(state)) = (line.snapshot, line.state) {
            snapshots.save(seq, state.get().as_bytes())?;
        } else {
            lines = line
                .lines
                .map(|lines| (lines, hex(&digest.clone().finalize())));
            sha256 = line.sha256;
        }
        digest.update(&text);
        digest.update(b"\n");
    }
    commit.commit(&journal)?;
    let sha256 = sha256.context("the export is cut short: its last line is missing")?;
    ensure!(
        journal.head() == begin.head,
        "the export is cut short: it ends at record {}",
        journal.head()
    );
    if begin.hubd_export > WITHOUT_LINES {
        let (exported, read) =
            lines.context("the export is cut short: the hash of its lines is missing")?;
        ensure!(
            read == exported,
            "the export was changed since it was written: its lines have the SHA-256 {read}, not {exported}"
        );
    }
    let imported = hash(&recover(&journal, &snapshots)?.state)?;
    ensure!(
        imported == sha256,
        "the state is {imported}, but the exported one was {sha256}"
    );
    journal.close()?;
    bar.finish_and_clear();
    Ok(format!(
        "imported records {} to {}, state {sha256}",
        begin.first, begin.head
    ))
}

/// Reads the first line of an export.
fn read_begin(input: &mut impl BufRead, digest: &mut Sha256) -> anyhow::Result<ExportHeader> {
    let mut text = String::new();
    input.read_line(&mut text)?;
    digest.update(text.trim_end_matches(['\r', '\n']));
    digest.update(b"\n");
    let begin: ExportHeader =
        serde_json::from_str(&text).context("line 1: this is no export of hubd")?;
    ensure!(
        begin.hubd_export <= FORMAT,
        "the export has format {}; this version of hubd reads up to {FORMAT}: install a newer one",
        begin.hubd_export
    );
    Ok(begin)
}

/// Opens an empty journal in `dir` that continues the numbers of the exported one.
fn open(dir: &Path, begin: &ExportHeader) -> Result<DiskJournal, OpenError> {
    let origin = JournalOrigin {
        epoch: begin.epoch,
        first: begin.first,
        chain: begin.chain,
    };
    let options = Options {
        origin: Some(origin),
        // The reserve is only needed while a hub publishes.
        reserve_bytes: 0,
        ..Options::default()
    };
    DiskJournal::open(dir, options)
}

/// Records collected for one commit.
#[derive(Default)]
struct ImportCommit {
    entries: Vec<Entry>,
    bytes: usize,
}

impl ImportCommit {
    fn add(&mut self, journal: &DiskJournal, entry: Entry) -> anyhow::Result<()> {
        let follows = self.entries.last().map_or(journal.head(), |last| last.seq) + 1;
        ensure!(
            entry.seq >= follows,
            "record {} comes after record {}",
            entry.seq,
            follows - 1
        );
        if entry.seq > follows {
            self.commit(journal)?;
            journal.skip_to(entry.seq - 1);
        }
        self.bytes += entry.payload.len();
        self.entries.push(entry);
        if self.bytes > COMMIT {
            self.commit(journal)
        } else {
            Ok(())
        }
    }

    fn commit(&mut self, journal: &DiskJournal) -> anyhow::Result<()> {
        journal.append(&self.entries)?;
        self.entries.clear();
        self.bytes = 0;
        Ok(())
    }
}
