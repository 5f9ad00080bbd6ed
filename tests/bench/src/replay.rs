//! Row: how fast one SSE reader receives everything stored, with and without acknowledging each notification.

use std::io::Read;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::bench::Bench;
use crate::body;
use crate::server::{Kind, Server};
use crate::slices::{Measure, median};
use crate::sse::Decoder;
use crate::table::{Bound, Row};

pub(crate) const STORED: u64 = 100_000;

/// NATS' push consumer in k/s, as measured once on another machine; a peer that this bench does not start.
const NATS: f64 = 1241.0;

/// Replays 100,000 notifications from the first.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    bench.progress.show("replay: storing");
    let servers = [bench.start(bench.subject)?, bench.start(bench.reference)?];
    for server in &servers {
        server.fill("bench", STORED)?;
    }
    let acked = bench.start(bench.subject)?;
    let mut sides = vec![replays(&servers[0], STORED), replays(&servers[1], STORED)];
    if bench.subject == Kind::Hubd {
        acked.fill("bench", STORED)?;
        bench.progress.show("replay: acknowledging");
        acknowledge(&acked)?;
        sides.push(replays(&acked, STORED));
    }
    let samples = bench.alternate("replay", sides)?;
    let hub = samples.of(0, |speed| *speed);
    let row = samples.row("replay 100k", "k/s", |speed| *speed, 0, ("REF", 1));
    let mut rows = vec![
        row.must(Bound::AtLeast(1.0)),
        Row::compare("replay 100k", "k/s", &hub, ("NATS once", &[NATS])),
    ];
    if bench.subject == Kind::Hubd {
        // The limit is on the time per notification, not on the speed.
        let micros = |speed: &f64| 1000.0 / speed;
        let row = samples.row("replay, all acked", "µs", micros, 2, ("without", 0));
        rows.push(row.must(Bound::AtMost(1.2)));
    }
    Ok(rows)
}

/// Replays until the time is over; returns the median in thousands per second.
pub(crate) fn replays(server: &Server, stored: u64) -> Measure<'_, f64> {
    Box::new(move |time| {
        let begin = Instant::now();
        let mut speeds = Vec::new();
        while speeds.is_empty() || begin.elapsed() < time {
            #[allow(clippy::cast_precision_loss)] // a few millions
            let thousands = stored as f64 / 1000.0;
            speeds.push(thousands / replay(server, stored)?.as_secs_f64());
        }
        Ok(median(&speeds))
    })
}

/// Reads all notifications, and checks that they are in order and complete.
fn replay(server: &Server, stored: u64) -> Result<Duration> {
    let mut connection = server.connect()?;
    let start = Instant::now();
    connection.send(&server.request("GET", "/events?since=0", ""))?;
    let mut stream = connection.into_stream();
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; 256 * 1024];
    let mut next = 0;
    while next < stored {
        let count = stream.read(&mut buffer)?;
        ensure!(count > 0, "the server closed the stream");
        decoder.feed(&buffer[..count])?;
        while let Some(data) = decoder.next_data() {
            // The first event of a stream is no notification.
            let Some(got) = body::number(data) else {
                continue;
            };
            ensure!(got == next, "got {got} instead of {next} in a replay");
            next += 1;
        }
    }
    Ok(start.elapsed())
}

/// Acknowledges every notification by a request of its own, with many requests in flight.
fn acknowledge(server: &Server) -> Result<()> {
    let workers = 16;
    std::thread::scope(|scope| {
        let ack = |first: u64| {
            let mut connection = server.connect()?;
            for id in (first..=STORED).step_by(workers) {
                let body = format!(r#"{{"ids":[{id}]}}"#);
                let path = "/inboxes/bench/ack?project=default";
                connection.exchange(&server.request("POST", path, &body))?;
            }
            anyhow::Ok(())
        };
        let threads: Vec<_> = (1..=workers as u64)
            .map(|first| scope.spawn(move || ack(first)))
            .collect();
        for thread in threads {
            thread.join().expect("an acknowledging thread panicked")?;
        }
        Ok(())
    })
}
