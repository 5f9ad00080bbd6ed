//! Rows: hubs of a cluster on three nats-servers, against what NATS itself costs.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::Bench;
use crate::load;
use crate::nats::Nats;
use crate::server::{Kind, Server};
use crate::slices::Measure;
use crate::table::{Bound, Row};

/// A takeover may take at most this long, in seconds: after SIGKILL, after SIGKILL and a start, after SIGTERM.
const KILLED: f64 = 10.0;
const STARTED_AGAIN: f64 = 1.5;
const STOPPED: f64 = 1.0;
/// How long a hub may take to accept the first notification.
const PATIENCE: Duration = Duration::from_secs(60);

/// Publishes at the active hub and at a standby, and ends the active hub in three ways.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let nats = Nats::start(bench.launcher.running())?;
    let active = start(bench, &nats, "a")?;
    let standby = start(bench, &nats, "b")?;
    let sides: Vec<Measure<'_, f64>> = vec![
        Box::new(|time| load::publish(&active, 1, "bench", time)),
        Box::new(|time| load::publish(&active, 64, "bench", time)),
        Box::new(|time| load::publish(&standby, 1, "bench", time)),
        Box::new(|time| nats.publish(time)),
        Box::new(|time| nats.request(time)),
    ];
    let samples = bench.alternate("cluster", sides)?;
    let rate = |name, hub| samples.row(name, "op/s", |it| *it, hub, ("JS1", 3));
    let micros = |side| samples.of(side, |rate| 1e6 / rate);
    let requests = samples.of(4, |it| 2.0 * it);
    let bound = micros(0)
        .into_iter()
        .zip(requests)
        .map(|(own, two)| own + two);
    let bound: Vec<f64> = bound.collect();
    let against = ("active + 2 requests", &bound[..]);
    let mut rows = vec![
        rate("cluster publish C=1", 0).must(Bound::AtLeast(0.6)),
        rate("cluster publish C=64", 1).must(Bound::AtLeast(8.0)),
        Row::compare("cluster publish at a standby", "µs", &micros(2), against)
            .must(Bound::AtMost(1.0)),
    ];
    rows.extend(takeovers(bench, (active, standby))?);
    Ok(rows)
}

/// Starts the hub `node` and waits until it accepts a notification.
fn start(bench: &Bench, nats: &Nats, node: &str) -> Result<Server> {
    let settings = [
        "journal=jetstream".to_owned(),
        nats.urls(),
        "cluster.replicas=3".to_owned(),
        format!("cluster.node={node}"),
    ];
    // Two hubs a run.
    let settings = settings.map(|it| &*it.leak());
    let server = bench.launcher.start_with(Kind::Hubd, &settings)?;
    accepted(&server)?;
    Ok(server)
}

/// Publishes until the hub accepts it; returns the seconds until then.
fn accepted(server: &Server) -> Result<f64> {
    let start = Instant::now();
    loop {
        let sent = server.connect().and_then(|mut connection| {
            let request = server.notify("takeover", 0);
            connection.exchange(&request).map(drop)
        });
        if sent.is_ok() {
            return Ok(start.elapsed().as_secs_f64());
        }
        ensure!(start.elapsed() < PATIENCE, "no hub is active");
    }
}

/// Ends the active hub, first `a` and later `b`.
fn takeovers(bench: &Bench, (mut a, mut b): (Server, Server)) -> Result<Vec<Row>> {
    let row = |name, seconds, bound: f64| {
        let row = Row::fixed(name, "s", seconds, "bound", bound);
        row.must(Bound::AtMost(1.0))
    };
    bench.launcher.restart(&mut a)?;
    let again = accepted(&a)?;
    let pid = i32::try_from(a.pid()).ok().and_then(Pid::from_raw);
    kill_process(pid.context("a process id")?, Signal::TERM)?;
    let stopped = accepted(&b)?;
    bench.launcher.restart(&mut a)?;
    accepted(&a)?;
    b.kill();
    let killed = accepted(&a)?;
    Ok(vec![
        row("takeover after SIGKILL", killed, KILLED),
        row("takeover after SIGKILL and a start", again, STARTED_AGAIN),
        row("takeover after SIGTERM", stopped, STOPPED),
    ])
}
