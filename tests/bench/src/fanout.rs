//! Row: from the POST until the last of many SSE readers has it.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::bench::Bench;
use crate::readers::Readers;
use crate::server::{Kind, Server};
use crate::slices::{Measure, median, micros};
use crate::table::{Bound, Row};

/// Number of readers, and the upper bound of the ratio to the relay.
const LEVELS: [(usize, f64); 3] = [(100, 1.7), (1000, 1.0), (5000, 1.1)];

/// How long to wait for late events at the end.
const AFTER: Duration = Duration::from_millis(300);

#[derive(Debug, Clone, Copy)]
struct Slice {
    /// Median time until the last reader had the event, in µs.
    last: f64,
    /// Events that a reader missed or received twice.
    wrong: f64,
}

/// Fans out to 100, 1000 and 5000 readers.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let levels = if bench.quick { &LEVELS[..2] } else { &LEVELS };
    let mut rows = Vec::new();
    let mut wrong = 0.0;
    for &(count, must) in levels {
        let name = format!("fan-out {count} last");
        let servers = [
            bench.start(bench.subject)?,
            bench.start(Kind::Relay)?,
            bench.start(bench.reference)?,
        ];
        let sides = servers
            .iter()
            .map(|server| to_readers(server, count))
            .collect::<Result<Vec<_>>>()?;
        let samples = bench.alternate(&name, sides)?;
        let row = |reference| samples.row(&name, "µs", |it| it.last, 0, reference);
        rows.push(row(("B", 1)).must(Bound::AtMost(must)));
        rows.push(row(("REF", 2)));
        wrong += samples.of(0, |it| it.wrong).iter().sum::<f64>();
    }
    let row = Row::fixed("fan-out lost or duplicated", "", wrong, "", 1.0);
    rows.push(row.must(Bound::AtMost(0.0)));
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
            wrong: f64::from(u32::try_from(lost + readers.take_duplicated(AFTER)?)?),
        })
    }))
}
