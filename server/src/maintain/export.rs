//! `hubd export`.

use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::value::RawValue;

use super::lines::{Begin, FORMAT, Line};
use super::{bar, hash, open_journal, snapshots};
use crate::archive::recover;
use crate::journal::Journal;

/// Bytes read from the journal at once.
const CHUNK: usize = 1 << 20;

/// Writes the journal in `state_dir` to `out`.
pub(super) fn export(state_dir: &Path, out: impl Write) -> anyhow::Result<()> {
    let journal = open_journal(state_dir)?;
    let snapshots = snapshots(state_dir, &journal);
    let sha256 = hash(&recover(&journal, &snapshots)?.state)?;
    let origin = journal.origin();
    let head = journal.head();
    let mut out = BufWriter::new(out);
    let begin = Begin {
        hubd_export: FORMAT,
        epoch: origin.epoch,
        first: origin.first,
        chain: origin.chain,
        head,
    };
    write_line(&mut out, &begin)?;
    if origin.first > 1 {
        // The oldest that serves, so that the import folds as much of the log as there is.
        let usable = snapshots.usable()?;
        let base = usable
            .into_iter()
            .rfind(|it| it.seq + 1 >= origin.first && it.seq <= head);
        let base =
            base.ok_or_else(|| anyhow::anyhow!("no snapshot holds what the log no longer does"))?;
        let state = RawValue::from_string(String::from_utf8(base.payload)?)?;
        write_line(&mut out, &Line::base(base.seq, state))?;
    }
    let bar = bar(head + 1 - origin.first, "exporting");
    let mut at = origin.first;
    while at <= head {
        for entry in journal.read(at, CHUNK)? {
            write_line(&mut out, &Line::of(&entry))?;
            at = entry.seq + 1;
        }
        bar.set_position(at - origin.first);
    }
    write_line(&mut out, &Line::end(head, sha256.clone()))?;
    out.flush()?;
    bar.finish_and_clear();
    eprintln!(
        "exported records {} to {head}, state {sha256}",
        origin.first
    );
    Ok(())
}

fn write_line(out: &mut impl Write, line: &impl serde::Serialize) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    Ok(out.write_all(b"\n")?)
}
