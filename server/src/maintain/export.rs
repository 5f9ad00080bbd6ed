//! `hubd export`: writes the journal as lines of JSON.

use std::io::{BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::Path;

use hub_core::secret::hex;
use hub_log::archive::recover;
use hub_log::journal::Journal;
use hub_log::journal::snapshot::FoldSnapshot;
use hub_protocol::Seq;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::lines::{ExportHeader, ExportLine, FORMAT};
use super::{bar, hash, open_journal, snapshots};

/// The number of bytes read from the journal at once.
const CHUNK: usize = 1 << 20;

/// Writes the journal in `state_dir` to `out`.
pub(super) fn export(state_dir: &Path, out: impl Write) -> anyhow::Result<()> {
    let journal = open_journal(state_dir)?;
    let snapshots = snapshots(state_dir, &journal);
    let sha256 = hash(&recover(&journal, &snapshots)?.state)?;
    let (origin, head) = (journal.origin(), journal.head());
    // Find the lost records before choosing the base, because the base must include their changes.
    journal.scrub(drop)?;
    let lost_ranges = journal.lost_ranges();
    let mut out = ExportWriter::new(out);
    let begin = ExportHeader {
        hubd_export: FORMAT,
        epoch: origin.epoch,
        first: origin.first,
        chain: origin.chain,
        head,
    };
    out.write(&begin)?;
    let lost = lost_ranges.iter().map(|hole| hole.to).max();
    let usable: Result<_, _> = snapshots.usable()?.collect();
    match base(usable?, origin.first..=head, lost.unwrap_or(0)) {
        Some(base) if origin.first > 1 || lost.is_some() => {
            let state = RawValue::from_string(String::from_utf8(base.payload.into())?)?;
            out.write(&ExportLine::base(base.seq, state))?;
        }
        None if origin.first > 1 => {
            anyhow::bail!("no snapshot includes the records that the log has dropped")
        }
        _ => {}
    }
    let bar = bar(head + 1 - origin.first, "exporting");
    let mut at = origin.first;
    while at <= head {
        for entry in journal.read(at, CHUNK)? {
            out.write(&ExportLine::of(&entry))?;
            at = entry.seq + 1;
        }
        bar.set_position(at - origin.first);
    }
    out.end(head, sha256.clone())?;
    bar.finish_and_clear();
    for hole in lost_ranges {
        eprintln!(
            "records {} to {} cannot be read any more and are left out",
            hole.from, hole.to
        );
    }
    eprintln!(
        "exported records {} to {head}, state {sha256}",
        origin.first
    );
    Ok(())
}

/// Returns the snapshot that an import builds on: the oldest usable one, so that it replays as many records as
/// possible. A snapshot that includes `lost`, the last lost record, is preferred.
fn base(usable: Vec<FoldSnapshot>, log: RangeInclusive<Seq>, lost: Seq) -> Option<FoldSnapshot> {
    let fits = |it: &FoldSnapshot| it.seq + 1 >= *log.start() && it.seq <= *log.end();
    let mut fitting: Vec<_> = usable.into_iter().filter(fits).collect();
    let at = fitting.iter().rposition(|it| it.seq >= lost);
    let at = at.or(fitting.len().checked_sub(1))?;
    Some(fitting.swap_remove(at))
}

/// The output of the export, with the hash of all lines so far.
struct ExportWriter<W: Write> {
    out: BufWriter<W>,
    digest: Sha256,
}

impl<W: Write> ExportWriter<W> {
    fn new(out: W) -> Self {
        Self {
            out: BufWriter::new(out),
            digest: Sha256::new(),
        }
    }

    fn write(&mut self, line: &impl serde::Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.digest.update(&text);
        Ok(self.out.write_all(&text)?)
    }

    fn end(mut self, head: Seq, sha256: String) -> anyhow::Result<()> {
        let lines = hex(&self.digest.clone().finalize());
        self.write(&ExportLine::end(head, sha256, lines))?;
        Ok(self.out.flush()?)
    }
}
