//! Rows: a million stored against nothing stored: publishing, waking, replaying, starting again.

use anyhow::Result;

use crate::bench::Bench;
use crate::publish::publishing;
use crate::replay;
use crate::slices::micros;
use crate::table::{Bound, Row};
use crate::wake;

const STORED: u64 = 1_000_000;

/// The longest allowed start, in ms.
const RESTART: f64 = 250.0;

/// Compares a hub with a million notifications to an empty one.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    bench.progress.show("million: storing, this takes a while");
    let (mut full, empty) = (bench.start(bench.subject)?, bench.start(bench.subject)?);
    let reference = bench.start(bench.reference)?;
    full.fill("stored", STORED)?;
    reference.fill("stored", STORED)?;

    let sides = vec![
        replay::replays(&full, STORED),
        replay::replays(&reference, STORED),
    ];
    let samples = bench.alternate("replay 1M", sides)?;
    let row = samples.row("replay 1M", "k/s", |speed| *speed, 0, ("REF", 1));
    let mut rows = vec![row.must(Bound::AtLeast(1.0))];

    let restart = micros(bench.launcher.restart(&mut full)?) / 1000.0;
    rows.push(
        Row::fixed("restart, 1M stored", "ms", restart, "ms", RESTART).aim(Bound::AtMost(1.0)),
    );

    let sides = vec![publishing(&full, 16), publishing(&empty, 16)];
    let samples = bench.alternate("publish, 1M stored", sides)?;
    let name = "publish C=16, 1M stored";
    let row = samples.row(name, "op/s", |it| it.rate, 0, ("0 stored", 1));
    rows.push(row.must(Bound::AtLeast(0.9)).aim(Bound::AtLeast(0.97)));

    let sides = vec![wake::by_sse(&full)?, wake::by_sse(&empty)?];
    let samples = bench.alternate("wake, 1M stored", sides)?;
    let name = "wake SSE p50, 1M stored";
    let row = samples.row(name, "µs", |it| it.p50, 0, ("0 stored", 1));
    rows.push(row.must(Bound::AtMost(1.1)));
    Ok(rows)
}
