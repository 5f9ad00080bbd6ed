//! Row: from the POST to its receipt by an idle reader, over SSE and over long-poll.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench::Bench;
use crate::body;
use crate::http::TIMEOUT;
use crate::long_poll;
use crate::server::{Kind, Server};
use crate::slices::{Measure, Slice, micros};
use crate::sse::Decoder;
use crate::table::{Bound, Row};

/// Pause between two wakes, so that the server's remaining work for the last one (the commit of its acknowledgement,
/// its store's own writes) does not count for the next.
const PAUSE: Duration = Duration::from_micros(200);

pub(crate) struct SseReader {
    stream: TcpStream,
    decoder: Decoder,
}

/// Wakes one reader at a time.
pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let hub = bench.start(bench.subject)?;
    let reference = bench.start(bench.reference)?;
    let relay = bench.start(Kind::Relay)?;
    // REF has no inboxes, so each way of reading gets its own server.
    let polled_hub = bench.start(bench.subject)?;
    let polled_reference = bench.start(bench.reference)?;
    let sides = vec![
        by_sse(&hub)?,
        by_sse(&reference)?,
        by_sse(&relay)?,
        by_long_poll((&polled_hub, &polled_hub), "bench"),
        by_long_poll((&polled_reference, &polled_reference), "bench"),
    ];
    let samples = bench.alternate("wake", sides)?;
    let p50 = |name, hub, reference| samples.row(name, "µs", |it| it.p50, hub, reference);
    let p99 = |name, hub, reference| samples.row(name, "µs", |it| it.p99, hub, reference);
    Ok(vec![
        p50("wake SSE p50", 0, ("REF", 1)).must(Bound::AtMost(1.0)),
        p50("wake SSE p50", 0, ("B", 2)).aim(Bound::AtMost(1.4)),
        p99("wake SSE p99", 0, ("REF", 1)),
        p99("wake SSE p99", 0, ("B", 2)).must_with_allowance(Bound::AtMost(2.2)),
        p50("wake long-poll p50", 3, ("own SSE", 0))
            .must(Bound::AtMost(1.15))
            .aim(Bound::AtMost(1.05)),
        p50("wake long-poll p50", 3, ("REF", 4)),
        p99("wake long-poll p99", 3, ("own SSE", 0)),
        p99("wake long-poll p99", 3, ("REF", 4)),
    ])
}

pub(crate) fn by_sse(server: &Server) -> Result<Measure<'_, Slice>> {
    let mut reader = SseReader::open(server)?;
    let mut number = 0;
    Ok(Box::new(move |time| {
        let mut publisher = server.connect()?;
        let wake = || {
            number += 1;
            let request = server.notify("bench", number);
            pause();
            let start = Instant::now();
            publisher.send(&request)?;
            let got = reader.next()?;
            let elapsed = start.elapsed();
            publisher.expect_success()?;
            ensure!(got == number, "got notification {got} instead of {number}");
            Ok(elapsed)
        };
        Slice::of(server, time, || repeat(time, wake))
    }))
}

/// Wakes a reader of one hub by a notification at another one, or at the same.
pub(crate) fn by_long_poll<'a>(
    (server, notified): (&'a Server, &'a Server),
    inbox: &'a str,
) -> Measure<'a, Slice> {
    let mut number = 0;
    let mut lease = String::new();
    Box::new(move |time| {
        let mut reader = server.connect()?;
        let mut publisher = notified.connect()?;
        let mut watch = server.connect()?;
        let wake = || {
            number += 1;
            let path = long_poll::path(inbox, &lease);
            reader.send(&server.request("GET", &path, ""))?;
            long_poll::until_armed(&mut watch, server, inbox)?;
            let request = notified.notify(inbox, number);
            pause();
            let start = Instant::now();
            publisher.send(&request)?;
            let batch = reader.expect_success()?;
            let elapsed = start.elapsed();
            publisher.expect_success()?;
            let got = body::number(&batch).context("an empty batch")?;
            ensure!(got == number, "got notification {got} instead of {number}");
            lease = long_poll::lease(&batch)?;
            Ok(elapsed)
        };
        Slice::of(server, time, || repeat(time, wake))
    })
}

/// Busy-waits, because after a sleep the measurement would show how deeply the cores slept.
fn pause() {
    let start = Instant::now();
    while start.elapsed() < PAUSE {
        std::hint::spin_loop();
    }
}

/// Wakes one after the other for `time`; returns the latencies in µs.
pub(crate) fn repeat(
    time: Duration,
    mut once: impl FnMut() -> Result<Duration>,
) -> Result<Vec<f64>> {
    let start = Instant::now();
    let mut latencies = Vec::new();
    while start.elapsed() < time {
        latencies.push(micros(once()?));
    }
    Ok(latencies)
}

impl SseReader {
    pub(crate) fn open(server: &Server) -> Result<Self> {
        let mut connection = server.connect()?;
        connection.send(&server.request("GET", "/events", ""))?;
        let mut reader = Self {
            stream: connection.into_stream(),
            decoder: Decoder::default(),
        };
        while !reader.decoder.is_open() {
            reader.fill()?;
        }
        Ok(reader)
    }

    /// The number of the next notification.
    pub(crate) fn next(&mut self) -> Result<u64> {
        loop {
            // The first event of a stream is not a notification.
            while let Some(data) = self.decoder.next_data() {
                if let Some(number) = body::number(data) {
                    return Ok(number);
                }
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<()> {
        let mut buffer = [0; 16 * 1024];
        self.stream.set_read_timeout(Some(TIMEOUT))?;
        let count = self.stream.read(&mut buffer).context("no event came")?;
        ensure!(count > 0, "the server closed the stream");
        self.decoder.feed(&buffer[..count])
    }
}
