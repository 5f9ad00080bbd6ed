//! `--before`: this build's hub against another build's, with fresh servers for each kind of request and each order.
//!
//! A hub puts work off, such as its archive and the move of its log into sled. So each server rests after its slice, and
//! both orders are measured: work that the rest does not cover slows the other server, first in one order and then in
//! the other.

use anyhow::Result;

use crate::bench::Bench;
use crate::publish::{LEVELS, publishing};
use crate::server::{Kind, Server};
use crate::slices::{Measure, Slice};
use crate::system;
use crate::table::Row;
use crate::wake::{by_long_poll, by_sse};

/// A figure of a slice.
type Figure = fn(&Slice) -> f64;

const FIGURES: [(&str, &str, Figure); 4] = [
    ("", "op/s", |it| it.rate),
    (" p50", "µs", |it| it.p50),
    (" p99", "µs", |it| it.p99),
    (", CPU", "µs", |it| it.cpu),
];

/// Publishes over 1, 16 and 64 connections, and wakes a reader.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (count, ..) in LEVELS {
        let name = format!("publish C={count}");
        rows.extend(compare(bench, &name, |it| Ok(publishing(it, count)))?);
    }
    rows.extend(compare(bench, "wake SSE", by_sse)?);
    rows.extend(compare(bench, "wake long-poll", |it| {
        Ok(by_long_poll((it, it), "bench"))
    })?);
    Ok(rows)
}

fn compare(
    bench: &Bench,
    name: &str,
    measure: impl Fn(&Server) -> Result<Measure<'_, Slice>>,
) -> Result<Vec<Row>> {
    let alternate = |first, second| {
        let servers = [bench.start(first)?, bench.start(second)?];
        let sides = servers.iter().map(|it| Ok(rested(it, measure(it)?)));
        bench.alternate(name, sides.collect::<Result<_>>()?)
    };
    let first = alternate(Kind::Hubd, Kind::Before)?;
    let second = alternate(Kind::Before, Kind::Hubd)?;
    let row = |(suffix, unit, figure): (&str, &'static str, Figure)| {
        let name = format!("{name}{suffix}");
        let orders = [
            (first.of(0, figure), first.of(1, figure)),
            (second.of(1, figure), second.of(0, figure)),
        ];
        Row::compare_orders(&name, unit, "before", orders)
    };
    Ok(FIGURES.map(row).into())
}

/// Measures a slice, and then waits until the server is quiet.
fn rested<'a>(server: &'a Server, mut measure: Measure<'a, Slice>) -> Measure<'a, Slice> {
    Box::new(move |time| {
        let slice = measure(time)?;
        system::rest(server.pid());
        Ok(slice)
    })
}
