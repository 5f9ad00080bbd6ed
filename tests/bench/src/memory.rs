//! Row: memory of an idle reader.

use std::time::Duration;

use anyhow::Result;

use crate::bench::Bench;
use crate::readers::Readers;
use crate::server::Kind;
use crate::system;
use crate::table::{Bound, Row};

/// nchan's KiB a reader, as measured once on another machine; a peer that this bench does not start.
const NCHAN: f64 = 9.8;

/// Readers before the first sample, so that the two samples differ by readers only.
const FIRST: usize = 500;

/// Pause before each sample, so that memory settles.
const SETTLE: Duration = Duration::from_millis(500);

/// Measures resident memory per reader.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let count = if bench.quick { 2000 } else { 5000 };
    let hub = each(bench, bench.subject, count)?;
    let reference = each(bench, bench.reference, count)?;
    let what = "idle SSE reader";
    Ok(vec![
        Row::fixed(what, "KiB", hub, "nchan once", NCHAN)
            .must(Bound::AtMost(1.3))
            .aim(Bound::AtMost(1.0)),
        Row::fixed(what, "KiB", hub, "REF", reference),
    ])
}

fn each(bench: &Bench, kind: Kind, count: usize) -> Result<f64> {
    bench
        .progress
        .show(&format!("memory: {count} readers at {kind:?}"));
    let server = bench.start(kind)?;
    let mut readers = Readers::open(&server, FIRST)?;
    std::thread::sleep(SETTLE);
    let before = system::resident_kib(server.pid())?;
    readers.grow(&server, count)?;
    std::thread::sleep(SETTLE);
    let after = system::resident_kib(server.pid())?;
    #[allow(clippy::cast_precision_loss)] // a few thousand
    let count = count as f64;
    Ok((after - before) / count)
}
