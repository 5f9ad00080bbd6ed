//! Row: how many notifications a second are stored durably, by so many publishers at once.

use anyhow::Result;

use crate::bench::Bench;
use crate::load::publish;
use crate::slices::{Measure, alternate};
use crate::table::{Bound, Row, Side};
use crate::target::Kind;

/// Publishers, and at least how many times REF (must) and B or the measured file server (aim).
const LEVELS: [(usize, f64, Option<f64>); 3] =
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
        let what = format!("publish C={count}");
        let mut sides: Vec<Measure<'_, f64>> = Vec::new();
        for server in &servers {
            sides.push(Box::new(move |time| publish(server, count, "bench", time)));
        }
        let samples = alternate(bench.plan, &bench.progress, &what, sides)?;
        let hub = Side::new("hub", &samples[0]);
        let axum = Row::compare(&what, "op/s", &hub, &Side::new("REF", &samples[1]));
        rows.push(axum.must(Bound::AtLeast(must)));
        let relay = Row::compare(&what, "op/s", &hub, &Side::new("B", &samples[2]));
        rows.push(match aim {
            Some(aim) => relay.aim(Bound::AtLeast(aim)),
            None => relay,
        });
    }
    Ok(rows)
}
