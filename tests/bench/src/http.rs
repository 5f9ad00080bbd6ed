//! As much HTTP/1.1 as both ends of a measurement need, and no more: whole messages with a Content-Length.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;

/// Timeout of a response; only a server that hangs exceeds it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// The first line and the place of the body in a message that is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) start: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) length: usize,
}

/// A response whose body is complete.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A blocking keep-alive connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// Splits the first complete message off `bytes`; `None` when more must be read.
pub(crate) fn message(bytes: &[u8]) -> Result<Option<Message<'_>>> {
    let Some(head_end) = memmem::find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..head_end]).context("a head that is no text")?;
    let (start, fields) = head.split_once("\r\n").unwrap_or((head, ""));
    let length = head_end + 4 + content_length(fields)?;
    Ok((bytes.len() >= length).then(|| Message {
        start,
        body: &bytes[head_end + 4..length],
        length,
    }))
}

/// The code in a status line, 0 when there is none.
pub(crate) fn status(start: &str) -> u16 {
    let code = start.split(' ').nth(1);
    code.and_then(|code| code.parse().ok()).unwrap_or(0)
}

fn content_length(fields: &str) -> Result<usize> {
    for line in fields.split("\r\n") {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            return value.trim().parse().context("content-length");
        }
    }
    Ok(0)
}

impl Connection {
    /// Connects without Nagle's delay.
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("connect {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self {
            stream,
            received: Vec::with_capacity(64 * 1024),
        })
    }

    /// Returns the bare socket; call it before any response was received.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    pub(crate) fn send(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request).context("send")
    }

    pub(crate) fn receive(&mut self) -> Result<Answer> {
        loop {
            if let Some(message) = message(&self.received)? {
                let answer = Answer {
                    status: status(message.start),
                    body: message.body.to_vec(),
                };
                let length = message.length;
                self.received.drain(..length);
                return Ok(answer);
            }
            ensure!(self.fill()? > 0, "the server closed the connection");
        }
    }

    /// Sends a request and receives its response; an error unless the status is 2xx.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        self.send(request)?;
        self.expect_success()
    }

    /// Receives a response; an error unless the status is 2xx.
    pub(crate) fn expect_success(&mut self) -> Result<Vec<u8>> {
        let answer = self.receive()?;
        if !(200..300).contains(&answer.status) {
            let text = String::from_utf8_lossy(&answer.body);
            bail!("the server answered {}: {text}", answer.status);
        }
        Ok(answer.body)
    }

    fn fill(&mut self) -> Result<usize> {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer).context("receive")?;
        self.received.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}
