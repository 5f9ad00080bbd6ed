//! Rows: notifications stored durably per second, and how long one takes, by the number of parallel publishers.

use anyhow::Result;

use crate::bench::Bench;
use crate::load;
use crate::server::{Kind, Server};
use crate::slices::{Measure, Slice};
use crate::table::{Bound, Row};

/// Publishers, at least how many times the rate of REF, and at most how many times its p99 if that has a bound.
pub(crate) const LEVELS: [(usize, f64, Option<f64>); 3] =
    [(1, 1.1, None), (16, 1.4, Some(1.2)), (64, 1.2, Some(1.2))];
/// At least how many times the rate of B one publisher should have.
const ALONE: f64 = 0.8;

/// Publishes with 1, 16 and 64 connections.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let servers = [
        bench.start(bench.subject)?,
        bench.start(bench.reference)?,
        bench.start(Kind::Relay)?,
    ];
    let mut rows = Vec::new();
    for (count, rate, p99) in LEVELS {
        let name = format!("publish C={count}");
        let sides = servers.iter().map(|it| publishing(it, count)).collect();
        let samples = bench.alternate(&name, sides)?;
        let row = |reference| samples.row(&name, "op/s", |it| it.rate, 0, reference);
        rows.push(row(("REF", 1)).must(Bound::AtLeast(rate)));
        rows.push(match count {
            1 => row(("B", 2)).aim(Bound::AtLeast(ALONE)),
            _ => row(("B", 2)),
        });
        let row = |what, figure: fn(&Slice) -> f64| {
            samples.row(&format!("{name}{what}"), "µs", figure, 0, ("REF", 1))
        };
        let tail = row(" p99", |it| it.p99);
        rows.push(match p99 {
            Some(p99) => tail.must_with_allowance(Bound::AtMost(p99)),
            None => tail,
        });
        rows.push(row(", CPU", |it| it.cpu));
    }
    Ok(rows)
}

/// Publishes over `count` connections.
pub(crate) fn publishing(server: &Server, count: usize) -> Measure<'_, Slice> {
    Box::new(move |time| Slice::of(server, time, || load::publish(server, count, "bench", time)))
}
