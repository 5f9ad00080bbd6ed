//! `hubd adopt`.

use std::io::Write;
use std::path::Path;

use hub_protocol::{Seq, Timestamp};

use super::snapshots;
use crate::journal::sled::{Files, Options};
use crate::journal::{Entry, Journal, disk, snapshot};
use crate::record::{ClockMoved, Record};
use crate::state::State;

/// How far above the last number that may have been used the next one lies.
const GAP: Seq = 1_000_000;

/// Gives what the journal in `state_dir` still holds a new identity.
pub(super) fn adopt(state_dir: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let files = Files::new(state_dir);
    anyhow::ensure!(
        files.root.exists(),
        "{} does not exist",
        state_dir.display()
    );
    let (journal, rescued) = disk::adopt(state_dir, Options::default())?;
    if rescued.first > 1 && !snapshot::exist_in(&files.snapshots()) {
        let nothing = serde_json::to_vec(&State::default())?;
        snapshots(state_dir, &journal).save(rescued.first - 1, &nothing)?;
        writeln!(
            out,
            "no snapshot was left: what was pending before record {} is forgotten",
            rescued.first
        )?;
    }
    let seq = rescued.used + GAP;
    journal.skip_to(seq - 1);
    journal.append(&[marker(seq)])?;
    journal.close()?;
    match (&rescued.broken, rescued.head < rescued.first) {
        (_, true) => writeln!(out, "nothing could be saved")?,
        (Some(reason), _) => writeln!(
            out,
            "records {} to {} are saved; then: {reason}",
            rescued.first, rescued.head
        )?,
        (None, _) => writeln!(
            out,
            "records {} to {} are adopted",
            rescued.first, rescued.head
        )?,
    }
    writeln!(
        out,
        "numbers go on at {seq}, the new epoch is {}",
        rescued.epoch
    )?;
    writeln!(out, "what was there before is in {}", rescued.old.display())?;
    Ok(())
}

/// The first record under the new identity: no time has passed, but age is not to be trusted for a day.
fn marker(seq: Seq) -> Entry {
    let record = Record::ClockMoved(ClockMoved {
        delta_ms: 0,
        at: Timestamp::now(),
    });
    let (kind, payload) = record.encode();
    Entry { seq, kind, payload }
}
