//! Row: from the POST until the last of many SSE readers has it.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::bench::Bench;
use crate::readers::Readers;
use crate::slices::{Measure, alternate, median, micros};
use crate::table::{Bound, Row, Side};
use crate::target::{Kind, Server};

/// Number of readers, and the upper bound of the ratio to the relay.
const LEVELS: [(usize, f64); 3] = [(100, 1.7), (1000, 1.0), (5000, 1.1)];

/// How long to wait for late events at the end.
const AFTER: Duration = Duration::from_millis(300);

/// One slice.
#[derive(Debug, Clone, Copy)]
struct Slice {
    /// Median time until the last reader had the event, in µs.
    last: f64,
    /// Events that a reader missed or received twice.
    wrong: usize,
}

/// Fans out to 100, 1000 and 5000 readers.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let levels = if bench.quick { &LEVELS[..2] } else { &LEVELS };
    let mut rows = Vec::new();
    let mut wrong = 0;
    for &(count, must) in levels {
        let what = format!("fan-out {count} last");
        let servers = [
            bench.start(bench.subject)?,
            bench.start(Kind::Relay)?,
            bench.start(bench.reference)?,
        ];
        let sides = servers
            .iter()
            .map(|server| to_readers(server, count))
            .collect::<Result<Vec<_>>>()?;
        let samples = alternate(bench.plan, &bench.progress, &what, sides)?;
        let side = |name, of: usize| Side::of(name, &samples[of], |slice: &Slice| slice.last);
        let hub = side("hub", 0);
        rows.push(Row::compare(&what, "µs", &hub, &side("B", 1)).must(Bound::AtMost(must)));
        rows.push(Row::compare(&what, "µs", &hub, &side("REF", 2)));
        wrong += samples[0].iter().map(|slice| slice.wrong).sum::<usize>();
    }
    rows.push(Row::count("fan-out lost or duplicated", wrong));
    Ok(rows)
}

fn to_readers(server: &Server, count: usize) -> Result<Measure<'_, Slice>> {
    let mut readers = Readers::open(server, count)?;
    let mut number = 0;
    Ok(Box::new(move |time| {
        let mut publisher = server.connect()?;
        let begin = Instant::now();
        let mut times = Vec::new();
        let mut lost = 0;
        while begin.elapsed() < time {
            number += 1;
            let request = server.notify("bench", number);
            let start = Instant::now();
            publisher.send(&request)?;
            lost += readers.until_all_have(number)?;
            times.push(micros(start.elapsed()));
            publisher.expect_success()?;
        }
        Ok(Slice {
            last: median(&times),
            wrong: lost + readers.take_duplicated(AFTER)?,
        })
    }))
}
