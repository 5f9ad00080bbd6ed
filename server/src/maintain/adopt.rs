//! `hubd adopt`: continues with the readable records of a journal, under a new identity.

use std::io::Write;
use std::path::Path;

use hub_core::disk::OsDisk;
use hub_core::fold::State;
use hub_core::record::{ClockMoved, Record};
use hub_log::journal::disk::{self, AdoptedRecords};
use hub_log::journal::sled::{DirLock, Options, StagedJournal};
use hub_log::journal::snapshot::{self, Snapshots};
use hub_log::journal::{Entry, Journal};
use hub_protocol::{Seq, Timestamp};

/// Replaces the journal in `state_dir` with one that has its readable records and a new identity.
pub(super) fn adopt(state_dir: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    anyhow::ensure!(state_dir.exists(), "{} does not exist", state_dir.display());
    let lock = DirLock::take(state_dir)?;
    let staged = StagedJournal::begin(&lock)?;
    let adopted = build(&staged, out)?;
    let replaced = staged.install()?;
    let AdoptedRecords {
        first, head, used, ..
    } = adopted;
    if head < first {
        writeln!(out, "nothing could be saved")?;
    } else if head < used {
        writeln!(
            out,
            "records {first} to {head} are saved, but record {used} was stored"
        )?;
    } else {
        writeln!(out, "records {first} to {head} are adopted")?;
    }
    for (from, to) in &adopted.lost_ranges {
        writeln!(
            out,
            "records {from} to {to} cannot be read and are left out"
        )?;
    }
    writeln!(
        out,
        "numbers go on at {}, the new epoch is {}",
        adopted.next(),
        adopted.epoch
    )?;
    for path in replaced {
        writeln!(out, "the old files are in {}", path.display())?;
    }
    Ok(())
}

/// Makes the complete new journal, with its first own record. Therefore no later start can reuse the old numbers.
pub(super) fn build(
    staged: &StagedJournal<'_>,
    out: &mut impl Write,
) -> anyhow::Result<AdoptedRecords> {
    // The reserve is only needed while a hub publishes.
    let options = Options {
        reserve_bytes: 0,
        ..Options::default()
    };
    let (journal, adopted) = disk::adopt(staged, options)?;
    let dir = staged.files().snapshots();
    if adopted.first > 1 && !snapshot::exist_in(&OsDisk, &dir) {
        let nothing = serde_json::to_vec(&State::default())?;
        Snapshots::new(&dir, adopted.epoch).save(adopted.first - 1, &nothing)?;
        writeln!(
            out,
            "no snapshot was left: the notifications that were pending before record {} are lost",
            adopted.first
        )?;
    }
    journal.skip_to(adopted.next() - 1);
    journal.append(&[marker(adopted.next())])?;
    journal.close()?;
    Ok(adopted)
}

/// Returns the first record under the new identity: a clock change of 0 ms, which pauses retention by age for a day.
fn marker(seq: Seq) -> Entry {
    let record = Record::ClockMoved(ClockMoved {
        delta_ms: 0,
        at: Timestamp::now(),
    });
    let (kind, payload) = record.encode();
    Entry { seq, kind, payload }
}
