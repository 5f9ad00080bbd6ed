//! Rows: hubs of a cluster on three nats-servers, against what NATS itself costs.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::Bench;
use crate::nats::Nats;
use crate::publish::publishing;
use crate::server::{Kind, Server};
use crate::slices::{Measure, Slice, median};
use crate::table::{Bound, Row};
use crate::wake::{self, SseReader};

/// A takeover may take at most this long, in seconds: after SIGKILL, after SIGKILL and a start, after SIGTERM.
const KILLED: f64 = 10.0;
const STARTED_AGAIN: f64 = 1.5;
const STOPPED: f64 = 1.0;
/// The records that a new hub copies.
const JOINED: u32 = 100_000;
/// How long a hub may take to accept the first notification.
const PATIENCE: Duration = Duration::from_secs(60);

/// Publishes at the active hub and at a standby, and ends the active hub in three ways.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let nats = Nats::start(bench.launcher.running())?;
    let active = start(bench, &nats, "a")?;
    let standby = start(bench, &nats, "b")?;
    let mut rows = publishes(bench, &nats, (&active, &standby))?;
    rows.extend(wakes(bench, &nats, (&active, &standby))?);
    rows.push(follow(bench, &nats, (&active, &standby))?);
    rows.push(join(bench, &nats, &active)?);
    rows.extend(takeovers(bench, (active, standby))?);
    Ok(rows)
}

fn publishes(
    bench: &Bench,
    nats: &Nats,
    (active, standby): (&Server, &Server),
) -> Result<Vec<Row>> {
    let rate = |it: &Slice| it.rate;
    let sides: Vec<Measure<'_, f64>> = vec![
        only(rate, publishing(active, 1)),
        only(rate, publishing(active, 64)),
        only(rate, publishing(standby, 1)),
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
    Ok(vec![
        rate("cluster publish C=1", 0).must(Bound::AtLeast(0.6)),
        rate("cluster publish C=64", 1).must(Bound::AtLeast(8.0)),
        Row::compare("cluster publish at a standby", "µs", &micros(2), against)
            .must(Bound::AtMost(1.0)),
    ])
}

/// Measures one figure alone.
fn only(figure: fn(&Slice) -> f64, mut measure: Measure<'_, Slice>) -> Measure<'_, f64> {
    Box::new(move |time| Ok(figure(&measure(time)?)))
}

/// Wakes a reader at one standby by a notification at another one.
fn wakes(bench: &Bench, nats: &Nats, (active, standby): (&Server, &Server)) -> Result<Vec<Row>> {
    let third = start(bench, nats, "c")?;
    let p50 = |it: &Slice| it.p50;
    let sides: Vec<Measure<'_, f64>> = vec![
        only(p50, wake::by_long_poll((&third, standby), "across")),
        only(p50, wake::by_long_poll((active, active), "alone")),
        Box::new(|time| nats.request(time)),
    ];
    let samples = bench.alternate("cluster wake", sides)?;
    let alone = samples.of(1, |it| *it).into_iter();
    let requests = samples.of(2, |it| 4.0 * it);
    let bound: Vec<f64> = alone.zip(requests).map(|(own, four)| own + four).collect();
    let across = samples.of(0, |it| *it);
    let against = ("active + 4 requests", &bound[..]);
    let row = Row::compare("cluster wake over two standbys p50", "µs", &across, against);
    Ok(vec![row.must(Bound::AtMost(1.0))])
}

/// Measures how much later a reader at a standby gets a notification than one at the active hub.
fn follow(bench: &Bench, nats: &Nats, (active, standby): (&Server, &Server)) -> Result<Row> {
    let (mut first, mut second) = (SseReader::open(active)?, SseReader::open(standby)?);
    let mut number = 0;
    let lag: Measure<'_, f64> = Box::new(move |time| {
        let mut publisher = active.connect()?;
        let latencies = wake::repeat(time, || {
            number += 1;
            publisher.send(&active.notify("follow", number))?;
            let got = first.next()?;
            let start = Instant::now();
            let later = second.next()?;
            let elapsed = start.elapsed();
            publisher.expect_success()?;
            ensure!(
                (got, later) == (number, number),
                "got notifications {got} and {later}"
            );
            Ok(elapsed)
        })?;
        Ok(median(&latencies))
    });
    let commit: Measure<'_, f64> = Box::new(|time| nats.publish(time).map(|rate| 1e6 / rate));
    let samples = bench.alternate("cluster follow", vec![lag, commit])?;
    let two = samples.of(1, |it| 2.0 * it);
    let row = Row::compare(
        "cluster follow lag p50",
        "µs",
        &samples.of(0, |it| *it),
        ("2 JS1", &two),
    );
    Ok(row.must(Bound::AtMost(1.0)))
}

/// Starts a hub with an empty directory, against a consumer of NATS that only reads the stream.
fn join(bench: &Bench, nats: &Nats, active: &Server) -> Result<Row> {
    active.fill("joined", JOINED.into())?;
    let head = head(active)?;
    let replay = nats.replay()?;
    let began = Instant::now();
    let joined = start(bench, nats, "d")?;
    while self::head(&joined)? < head {
        ensure!(began.elapsed() < PATIENCE, "the new hub stays behind");
    }
    #[allow(clippy::cast_precision_loss)] // some hundred thousand
    let rate = |seconds: f64| head as f64 / seconds;
    let join = began.elapsed().as_secs_f64();
    let against = rate(replay.as_secs_f64());
    let row = Row::fixed(
        "cluster join",
        "rec/s",
        rate(join),
        "consumer replay",
        against,
    );
    Ok(row.must(Bound::AtLeast(0.5)))
}

/// Returns the last record of a hub's copy.
fn head(server: &Server) -> Result<u64> {
    let body = server
        .connect()?
        .exchange(&server.request("GET", "/hub", ""))?;
    let about: serde_json::Value = serde_json::from_slice(&body)?;
    about["head"].as_u64().context("no head")
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
