//! Many SSE readers on one thread.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::body;
use crate::http::TIMEOUT;
use crate::server::Server;
use crate::sse::Decoder;

/// Connections opened at a time, so that no listen queue overflows.
const AT_ONCE: usize = 64;

/// Readers of every notification posted from now on.
#[derive(Debug)]
pub(crate) struct Readers {
    poll: Poll,
    events: Events,
    all: Vec<Reader>,
    /// Events that a reader had already received, or that the bench did not post.
    duplicated: usize,
}

#[derive(Debug)]
struct Reader {
    stream: TcpStream,
    decoder: Decoder,
    got: u64,
}

impl Readers {
    pub(crate) fn open(server: &Server, count: usize) -> Result<Self> {
        let mut readers = Self {
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            all: Vec::with_capacity(count),
            duplicated: 0,
        };
        readers.grow(server, count)?;
        Ok(readers)
    }

    /// Subscribes `count` more.
    pub(crate) fn grow(&mut self, server: &Server, count: usize) -> Result<()> {
        let request = server.request("GET", "/events", "");
        let goal = self.all.len() + count;
        while self.all.len() < goal {
            let first = self.all.len();
            for _ in first..goal.min(first + AT_ONCE) {
                self.connect(server, &request)?;
            }
            while self.all[first..].iter().any(|it| !it.decoder.is_open()) {
                self.receive(0, TIMEOUT)?;
            }
        }
        Ok(())
    }

    /// Waits until every reader has notification `number`; returns how many never got it.
    pub(crate) fn until_all_have(&mut self, number: u64) -> Result<usize> {
        let mut missing = self.all.len();
        let start = Instant::now();
        while missing > 0 && start.elapsed() < TIMEOUT {
            missing -= self.receive(number, TIMEOUT)?;
        }
        Ok(missing)
    }

    /// Returns the surplus events since the last call, after reading for another `time`.
    pub(crate) fn take_duplicated(&mut self, time: Duration) -> Result<usize> {
        let start = Instant::now();
        while start.elapsed() < time {
            self.receive(u64::MAX, time)?;
        }
        Ok(std::mem::take(&mut self.duplicated))
    }

    fn connect(&mut self, server: &Server, request: &[u8]) -> Result<()> {
        let mut stream = std::net::TcpStream::connect(server.address())
            .with_context(|| format!("connect reader {}", self.all.len() + 1))?;
        stream.write_all(request)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        let token = Token(self.all.len());
        self.poll
            .registry()
            .register(&mut stream, token, Interest::READABLE)?;
        self.all.push(Reader {
            stream,
            decoder: Decoder::default(),
            got: 0,
        });
        Ok(())
    }

    /// Reads events for up to `time`; returns how many readers got `number` meanwhile.
    fn receive(&mut self, number: u64, time: Duration) -> Result<usize> {
        self.poll.poll(&mut self.events, Some(time))?;
        let mut reached = 0;
        for event in &self.events {
            let reader = &mut self.all[event.token().0];
            reader.fill()?;
            while let Some(data) = reader.decoder.next_data() {
                match body::number(data) {
                    Some(got) if got > reader.got => {
                        reader.got = got;
                        reached += usize::from(got == number);
                    }
                    _ => self.duplicated += 1,
                }
            }
        }
        Ok(reached)
    }
}

impl Reader {
    fn fill(&mut self) -> Result<()> {
        let mut buffer = [0; 4096];
        loop {
            let count = match self.stream.read(&mut buffer) {
                Ok(0) => bail!("the server closed a reader's connection"),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            self.decoder.feed(&buffer[..count])?;
            // If a read did not fill the buffer, later bytes raise an event of their own.
            if count < buffer.len() {
                return Ok(());
            }
        }
    }
}
