//! The byte stream under hyper: a reader that takes nothing for too long is dropped; hyper's own bare answers to what is
//! no HTTP are held back, so that the connection can say it as a problem; and a head with two lengths is noticed, of
//! which hyper shows only one.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::slots::{Busy, Line};

/// A byte stream with a limit on how long a write may stand still.
pub(super) struct IoGuard<S> {
    stream: S,
    limit: Duration,
    line: Line,
    /// Runs while a write stands still; the connection is busy as long.
    stalled: Option<(Pin<Box<Sleep>>, Busy)>,
    /// Something came that was not answered yet.
    heard: bool,
    refused: Option<u16>,
}

impl<S> IoGuard<S> {
    pub(super) fn new(stream: S, limit: Duration, line: Line) -> Self {
        Self {
            stream,
            limit,
            line,
            stalled: None,
            heard: false,
            refused: None,
        }
    }

    /// Whether something came since the last answer.
    pub(super) fn heard(&self) -> bool {
        self.heard
    }

    /// The status of hyper's answer that was held back.
    pub(super) fn refused(&self) -> Option<u16> {
        self.refused
    }

    fn written(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if result.is_ready() {
            self.stalled = None;
            self.heard = false;
            return result;
        }
        let Self {
            limit,
            line,
            stalled,
            ..
        } = self;
        let begin = || (Box::pin(tokio::time::sleep(*limit)), line.occupy());
        let (timer, _) = stalled.get_or_insert_with(begin);
        timer
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Whether a head begins here that has both Content-Length and Transfer-Encoding. hyper follows the second, as RFC 9112
/// says, and hides the first; such a request is an attack or a mistake, and is told so. A head that comes in pieces may
/// escape, and does no harm.
fn has_two_lengths(bytes: &[u8]) -> bool {
    let begins = |line: &[u8], name: &[u8]| {
        line.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let (mut length, mut coding) = (false, false);
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.is_empty() || line == b"\r" {
            break;
        }
        length |= begins(line, b"content-length:");
        coding |= begins(line, b"transfer-encoding:");
    }
    length && coding
}

/// The status, if these bytes are hyper's answer to a request that it could not parse. The hub's own errors have a
/// Content-Type, and no body of the hub holds a carriage return that ends a line.
fn bare_answer(bytes: &[u8]) -> Option<u16> {
    let rest = bytes.strip_prefix(b"HTTP/1.1 ")?;
    let bare = rest.first() == Some(&b'4')
        && bytes.len() < 256
        && bytes.ends_with(b"\r\n\r\n")
        && !bytes
            .windows(13)
            .any(|w| w.eq_ignore_ascii_case(b"content-type:"));
    if !bare {
        return None;
    }
    std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok()
}

impl<S: AsyncWrite + Unpin> IoGuard<S> {
    /// Writes what there is room for now; how many bytes that was. An error is left to the next who writes.
    pub(super) fn offer(&mut self, bytes: &[u8]) -> usize {
        if self.stalled.is_some() {
            return 0;
        }
        let mut nobody = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.stream).poll_write(&mut nobody, bytes) {
            Poll::Ready(written) => written.unwrap_or(0),
            Poll::Pending => 0,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IoGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let fresh = &buffer.filled()[before..];
        self.heard |= !fresh.is_empty();
        if has_two_lengths(fresh) {
            self.line.note_two_lengths();
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IoGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(status) = bare_answer(bytes) {
            self.refused = Some(status);
            return Poll::Ready(Ok(bytes.len()));
        }
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = slices {
            return self.poll_write(cx, only);
        }
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
