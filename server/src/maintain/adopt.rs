//! `hubd adopt`.

use std::io::Write;
use std::path::Path;

use hub_protocol::{Seq, Timestamp};

use crate::journal::sled::{Lock, Making, Options, Rescued};
use crate::journal::snapshot::{self, Snapshots};
use crate::journal::{Entry, Journal, disk};
use crate::record::{ClockMoved, Record};
use crate::state::State;

/// Gives what the journal in `state_dir` still holds a new identity.
pub(super) fn adopt(state_dir: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    anyhow::ensure!(state_dir.exists(), "{} does not exist", state_dir.display());
    let lock = Lock::take(state_dir)?;
    let making = Making::begin(&lock)?;
    let rescued = make(&making, out)?;
    let replaced = making.put_in_place()?;
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
        "numbers go on at {}, the new epoch is {}",
        rescued.next(),
        rescued.epoch
    )?;
    for path in replaced {
        writeln!(out, "what was there before is in {}", path.display())?;
    }
    Ok(())
}

/// All of the new journal, its first record included: whoever opens it never numbers on from what was saved.
pub(super) fn make(making: &Making<'_>, out: &mut impl Write) -> anyhow::Result<Rescued> {
    // It is gone again before anything is published.
    let options = Options {
        reserve_bytes: 0,
        ..Options::default()
    };
    let (journal, rescued) = disk::adopt(making, options)?;
    let dir = making.files().snapshots();
    if rescued.first > 1 && !snapshot::exist_in(&dir) {
        let nothing = serde_json::to_vec(&State::default())?;
        Snapshots::new(&dir, rescued.epoch).save(rescued.first - 1, &nothing)?;
        writeln!(
            out,
            "no snapshot was left: what was pending before record {} is forgotten",
            rescued.first
        )?;
    }
    journal.skip_to(rescued.next() - 1);
    journal.append(&[marker(rescued.next())])?;
    journal.close()?;
    Ok(rescued)
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
