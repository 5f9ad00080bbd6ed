//! The byte stream below hyper. It drops readers that do not read for too long. It holds back hyper's bare error
//! answers, so that the connection can send a problem document instead. It scans the request heads (`heads.rs`). And
//! while an answer is under way, it hides the end of the client's input from hyper, which would take it for a
//! disconnect.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::head_scanner::{HeadQueue, HeadScanner};
use super::slots::{BusyGuard, ConnectionStatus};

/// A byte stream with a limit on how long a write may stall.
pub(super) struct IoGuard<S> {
    stream: S,
    limit: Duration,
    status: ConnectionStatus,
    /// `None` once no more requests are expected. Boxed, so that a stream does not reserve memory for it.
    heads: Option<Box<HeadScanner>>,
    /// The timer of a stalled write; the connection counts as busy meanwhile.
    stalled: Option<(Pin<Box<Sleep>>, BusyGuard)>,
    /// Whether input has arrived since the last write.
    has_input: bool,
    refused: Option<u16>,
}

impl<S> IoGuard<S> {
    pub(super) fn new(
        stream: S,
        limit: Duration,
        status: ConnectionStatus,
        heads: HeadQueue,
    ) -> Self {
        Self {
            stream,
            limit,
            status,
            heads: Some(Box::new(HeadScanner::new(heads))),
            stalled: None,
            has_input: false,
            refused: None,
        }
    }

    /// Whether input has arrived since the last answer.
    pub(super) fn has_input(&self) -> bool {
        self.has_input
    }

    /// Stops scanning: input from now on is not a request.
    pub(super) fn expect_no_request(&mut self) {
        self.heads = None;
        self.status.begin_request(false, false);
    }

    /// The status of hyper's own answer that was held back.
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
            self.has_input = false;
            return result;
        }
        let Self {
            limit,
            status,
            stalled,
            ..
        } = self;
        let begin = || (Box::pin(tokio::time::sleep(*limit)), status.occupy());
        let (timer, _) = stalled.get_or_insert_with(begin);
        timer
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// The status, if these bytes are hyper's own answer to a request that it could not parse. The hub's errors have a
/// Content-Type, and no body of the hub contains a carriage return before a line feed.
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
    /// Writes as much as fits without waiting; returns the number of bytes. An error is left to the next regular write.
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
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let guard = &mut *self;
        let fresh = &buffer.filled()[before..];
        guard.has_input |= !fresh.is_empty();
        if let Some(heads) = &mut guard.heads {
            heads.feed(fresh);
        }
        let is_end = matches!(result, Poll::Ready(Ok(()))) && fresh.is_empty() && room > 0;
        if is_end && guard.status.note_end_of_input() {
            // The end of the answer wakes the connection, which then reads again.
            return Poll::Pending;
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
