//! A load of publishers: keep-alive connections on one thread, each posting again as soon as it has its answer.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::http::{self, TIMEOUT};
use crate::server::Server;
use crate::slices::micros;

/// Posts the same valid request to `inbox` over `count` connections for `time`; returns the latencies of the 2xx
/// responses in µs. The connections are new, because the hub closes those that are idle while others are measured.
pub(crate) fn publish(
    server: &Server,
    count: usize,
    inbox: &str,
    time: Duration,
) -> Result<Vec<f64>> {
    Load::open(server, count, inbox)?.run(time)
}

struct Load {
    poll: Poll,
    events: Events,
    publishers: Vec<Publisher>,
    request: Vec<u8>,
}

struct Publisher {
    stream: TcpStream,
    received: Vec<u8>,
    /// When its last request was posted.
    posted: Instant,
}

impl Load {
    fn open(server: &Server, count: usize, inbox: &str) -> Result<Self> {
        let poll = Poll::new()?;
        let mut publishers = Vec::new();
        for at in 0..count {
            let stream = std::net::TcpStream::connect(server.address())?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry()
                .register(&mut stream, Token(at), Interest::READABLE)?;
            publishers.push(Publisher {
                stream,
                received: Vec::with_capacity(4096),
                posted: Instant::now(),
            });
        }
        Ok(Self {
            poll,
            events: Events::with_capacity(count),
            publishers,
            request: server.notify(inbox, 0),
        })
    }

    fn run(&mut self, time: Duration) -> Result<Vec<f64>> {
        let start = Instant::now();
        let mut latencies = Vec::new();
        let mut late = 0;
        for publisher in &mut self.publishers {
            publisher.post(&self.request)?;
        }
        while late < self.publishers.len() {
            self.poll.poll(&mut self.events, Some(TIMEOUT))?;
            ensure!(!self.events.is_empty(), "a publisher got no answer");
            let over = start.elapsed() >= time;
            for event in &self.events {
                let publisher = &mut self.publishers[event.token().0];
                if !publisher.is_answered()? {
                    continue;
                }
                if over {
                    late += 1;
                } else {
                    latencies.push(micros(publisher.posted.elapsed()));
                    publisher.post(&self.request)?;
                }
            }
        }
        Ok(latencies)
    }
}

impl Publisher {
    fn post(&mut self, request: &[u8]) -> Result<()> {
        self.posted = Instant::now();
        // The buffer of an idle connection takes a request of a few hundred bytes at once.
        self.stream.write_all(request).context("post")
    }

    fn is_answered(&mut self) -> Result<bool> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => bail!("the server closed a publisher's connection"),
            Ok(count) => self.received.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let Some(message) = http::message(&self.received)? else {
            return Ok(false);
        };
        let status = http::status(message.start);
        ensure!(
            (200..300).contains(&status),
            "the server answered {status} to a publisher: {}",
            String::from_utf8_lossy(message.body)
        );
        ensure!(
            message.length == self.received.len(),
            "more than one answer to one request"
        );
        self.received.clear();
        Ok(true)
    }
}
