//! Server-sent events out of raw bytes: undoes chunks, splits events, and costs little more than a copy.

use anyhow::{Result, bail, ensure};
use memchr::{memchr, memmem};

use crate::http;

/// Bytes of consumed text after which the buffer is compacted.
const COMPACT_AT: usize = 1 << 20;

/// Decodes one response, including its head.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    phase: Phase,
    head: Vec<u8>,
    text: Vec<u8>,
    taken: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum Phase {
    #[default]
    Head,
    Plain,
    ChunkSize(usize),
    ChunkData(usize),
    /// The line end after a chunk: the number of its bytes still to be read.
    ChunkEnd(usize),
}

impl Decoder {
    /// Whether the head of the answer is complete: the reader is subscribed.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Head)
    }

    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.taken > COMPACT_AT {
            self.text.drain(..self.taken);
            self.taken = 0;
        }
        while !bytes.is_empty() {
            bytes = match self.phase {
                Phase::Head => self.take_head(bytes)?,
                Phase::Plain => {
                    self.text.extend_from_slice(bytes);
                    &[]
                }
                Phase::ChunkSize(size) => self.take_size(size, bytes)?,
                Phase::ChunkData(left) => self.take_data(left, bytes),
                Phase::ChunkEnd(left) => {
                    let count = left.min(bytes.len());
                    self.phase = match left - count {
                        0 => Phase::ChunkSize(0),
                        left => Phase::ChunkEnd(left),
                    };
                    &bytes[count..]
                }
            };
        }
        Ok(())
    }

    /// The `data` of the next event that carries any.
    pub(crate) fn next_data(&mut self) -> Option<&[u8]> {
        loop {
            let rest = &self.text[self.taken..];
            let end = memmem::find(rest, b"\n\n")?;
            let start = self.taken;
            self.taken += end + 2;
            if let Some(at) = data_start(&self.text[start..start + end]) {
                let data = &self.text[start + at..start + end];
                let line = memchr(b'\n', data).unwrap_or(data.len());
                return Some(&self.text[start + at..start + at + line]);
            }
        }
    }

    fn take_head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        let Some(end) = memmem::find(&self.head, b"\r\n\r\n") else {
            return Ok(&[]);
        };
        let head = String::from_utf8_lossy(&self.head[..end]).to_ascii_lowercase();
        let status = http::status(&head);
        ensure!(status == 200, "the server answered {status} to a reader");
        self.phase = if head.contains("transfer-encoding: chunked") {
            Phase::ChunkSize(0)
        } else {
            Phase::Plain
        };
        self.head = Vec::new();
        Ok(&bytes[end + 4 - before..])
    }

    fn take_size<'a>(&mut self, mut size: usize, bytes: &'a [u8]) -> Result<&'a [u8]> {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if size == 0 => bail!("the server ended the stream"),
                b'\n' => {
                    self.phase = Phase::ChunkData(size);
                    return Ok(&bytes[at + 1..]);
                }
                b'\r' => {}
                digit => match (digit as char).to_digit(16) {
                    Some(digit) => size = size * 16 + digit as usize,
                    None => bail!("a chunk without a size"),
                },
            }
        }
        self.phase = Phase::ChunkSize(size);
        Ok(&[])
    }

    fn take_data<'a>(&mut self, left: usize, bytes: &'a [u8]) -> &'a [u8] {
        let count = left.min(bytes.len());
        self.text.extend_from_slice(&bytes[..count]);
        self.phase = match left - count {
            0 => Phase::ChunkEnd(2),
            left => Phase::ChunkData(left),
        };
        &bytes[count..]
    }
}

fn data_start(event: &[u8]) -> Option<usize> {
    if event.starts_with(b"data:") {
        return Some(5);
    }
    memmem::find(event, b"\ndata:").map(|at| at + 6)
}
