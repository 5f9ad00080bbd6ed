//! Row: notifications stored durably per second, by the number of parallel publishers.

use anyhow::Result;

use crate::bench::Bench;
use crate::load;
use crate::server::{Kind, Server};
use crate::slices::{Measure, Slice};
use crate::table::{Bound, Row};

/// Publishers, and at least how many times REF (must) and B or the measured file server (aim).
pub(crate) const LEVELS: [(usize, f64, Option<f64>); 3] =
    [(1, 1.1, Some(0.8)), (16, 1.2, None), (64, 1.15, None)];

/// Publishes with 1, 16 and 64 connections.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let servers = [
        bench.start(bench.subject)?,
        bench.start(bench.reference)?,
        bench.start(Kind::Relay)?,
    ];
    let mut rows = Vec::new();
    for (count, must, aim) in LEVELS {
        let name = format!("publish C={count}");
        let sides = servers.iter().map(|it| publishing(it, count)).collect();
        let samples = bench.alternate(&name, sides)?;
        let row = |reference| samples.row(&name, "op/s", |it| it.rate, 0, reference);
        rows.push(row(("REF", 1)).must(Bound::AtLeast(must)));
        rows.push(match aim {
            Some(aim) => row(("B", 2)).aim(Bound::AtLeast(aim)),
            None => row(("B", 2)),
        });
        let cpu = format!("{name}, CPU");
        rows.push(samples.row(&cpu, "µs", |it| it.cpu, 0, ("REF", 1)));
    }
    Ok(rows)
}

/// Publishes over `count` connections.
pub(crate) fn publishing(server: &Server, count: usize) -> Measure<'_, Slice> {
    Box::new(move |time| Slice::of(server, time, || load::publish(server, count, "bench", time)))
}
