//! Rows: a million stored against nothing stored: publishing, waking, replaying, starting again.

use anyhow::Result;

use crate::bench::Bench;
use crate::publish::{Slice, publishing};
use crate::replay;
use crate::slices::{alternate, micros};
use crate::table::{Bound, Row, Side};
use crate::wake;

/// Number of stored notifications.
const STORED: u64 = 1_000_000;

/// The longest allowed start, in ms.
const RESTART: f64 = 250.0;

/// Compares a hub with a million notifications to an empty one.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    bench.progress.say("million: storing, this takes a while");
    let (mut full, empty) = (bench.start(bench.subject)?, bench.start(bench.subject)?);
    let reference = bench.start(bench.reference)?;
    full.fill("stored", STORED)?;
    reference.fill("stored", STORED)?;

    let sides = vec![
        replay::replays(&full, STORED),
        replay::replays(&reference, STORED),
    ];
    let samples = alternate(bench.plan, &bench.progress, "replay 1M", sides)?;
    let (hub, other) = (Side::new("hub", &samples[0]), Side::new("REF", &samples[1]));
    let mut rows = vec![Row::compare("replay 1M", "k/s", &hub, &other).must(Bound::AtLeast(1.0))];

    let restart = micros(bench.place.restart(&mut full)?) / 1000.0;
    rows.push(
        Row::fixed("restart, 1M stored", "ms", restart, "ms", RESTART).aim(Bound::AtMost(1.0)),
    );

    let sides = vec![publishing(&full, 16), publishing(&empty, 16)];
    let samples = alternate(bench.plan, &bench.progress, "publish, 1M stored", sides)?;
    let rate = |name, of: usize| Side::of(name, &samples[of], |slice: &Slice| slice.rate);
    let what = "publish C=16, 1M stored";
    let row = Row::compare(what, "op/s", &rate("hub", 0), &rate("0 stored", 1));
    rows.push(row.must(Bound::AtLeast(0.9)).aim(Bound::AtLeast(0.97)));

    let sides = vec![wake::by_sse(&full)?, wake::by_sse(&empty)?];
    let samples = alternate(bench.plan, &bench.progress, "wake, 1M stored", sides)?;
    let p50 = |name, of: usize| Side::of(name, &samples[of], |it: &wake::Latency| it[0]);
    let what = "wake SSE p50, 1M stored";
    let row = Row::compare(what, "µs", &p50("hub", 0), &p50("0 stored", 1));
    rows.push(row.must(Bound::AtMost(1.1)));
    Ok(rows)
}
