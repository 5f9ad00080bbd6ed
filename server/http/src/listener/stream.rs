//! Streams without hyper: once the head of an endless answer is written, the connection only carries bytes until one
//! side closes.
//!
//! A reader that waits for hours then keeps no parser and no buffers for further requests. An event costs it one write,
//! which the fan-out does while the stream's task sleeps (`log/fanout.rs`).
//!
//! Measured: an idle stream costs 2.5 KiB, a quarter of the 10.7 KiB that it costs in hyper's HTTP/1 connection with its
//! smallest buffer, and an eighth of the 20.1 KiB that it costs in `axum::serve`.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use axum::http::{Response, response};
use bytes::{Buf as _, Bytes};
use http_body::Body as _;
use hub_core::sync;
use hub_log::fanout::{Outlet, Sink};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::body::ResponseBody;
use super::io_guard::IoGuard;
use super::slots::Slot;

/// Size of the buffer for input on a stream, which is discarded.
const NOISE_BYTES: usize = 256;

/// The slot through which a request hands an endless answer to its connection. All earlier answers are written by then,
/// because hyper begins a request only after the last answer is flushed.
#[derive(Default)]
pub(super) struct StreamHandoff(Mutex<Option<Response<ResponseBody>>>);

impl StreamHandoff {
    /// Returns finite answers unchanged. For an endless one, hands it to the connection and never resolves.
    pub(super) async fn unless_endless(
        &self,
        answer: Response<ResponseBody>,
    ) -> Response<ResponseBody> {
        if answer.body().size_hint().exact().is_some() {
            return answer;
        }
        *sync::lock(&self.0) = Some(answer);
        std::future::pending().await
    }

    pub(super) fn take(&self) -> Option<Response<ResponseBody>> {
        sync::lock(&self.0).take()
    }
}

/// A connection that has become a stream.
pub(super) struct StreamConnection<S> {
    socket: Arc<SharedSocket<S>>,
    head: Bytes,
    body: ResponseBody,
}

/// The connection, which the stream's task writes to, or the fan-out while that task is parked.
struct SharedSocket<S>(Mutex<IoGuard<S>>);

impl<S> SharedSocket<S> {
    fn lock(&self) -> MutexGuard<'_, IoGuard<S>> {
        sync::lock(&self.0)
    }
}

impl<S: AsyncWrite + Unpin + Send> Sink for SharedSocket<S> {
    fn offer(&self, bytes: &[u8]) -> usize {
        self.lock().offer(bytes)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> StreamConnection<S> {
    /// A stream that sends `answer` to `io`, from its head on. The answer ends with the connection.
    pub(super) fn new(mut io: IoGuard<S>, answer: Response<ResponseBody>) -> Self {
        io.expect_no_request();
        let (parts, body) = answer.into_parts();
        let socket = Arc::new(SharedSocket(Mutex::new(io)));
        if let Some(outlet) = parts.extensions.get::<Outlet>() {
            outlet.connect(socket.clone());
        }
        let head = head(&parts);
        Self { socket, head, body }
    }

    /// Writes until either side closes or the connection is cut. Keeps its slot until then.
    pub(super) async fn run(mut self, slot: Slot) {
        let cut = slot.status().cut();
        if let Some(Err(error)) = cut.run_until_cancelled(self.pump()).await {
            tracing::debug!(%error, "a stream's reader is gone");
        }
    }

    async fn pump(&mut self) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.head);
        loop {
            while !bytes.is_empty() {
                let written =
                    poll_fn(|cx| Pin::new(&mut *self.socket.lock()).poll_write(cx, &bytes));
                match written.await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => bytes.advance(count),
                }
            }
            match poll_fn(|cx| self.poll_next(cx)).await {
                Some(next) => bytes = next,
                None => {
                    return poll_fn(|cx| Pin::new(&mut *self.socket.lock()).poll_shutdown(cx))
                        .await;
                }
            }
        }
    }

    /// The next bytes of the body; `None` at the end of the stream, or when its reader has closed.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.poll_closed(cx).is_ready() {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(frame.and_then(|frame| frame.ok()?.into_data().ok()))
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut noise = [0; NOISE_BYTES];
        loop {
            let mut noise = ReadBuf::new(&mut noise);
            match ready!(Pin::new(&mut *self.socket.lock()).poll_read(cx, &mut noise)) {
                Ok(()) if !noise.filled().is_empty() => {}
                _ => return Poll::Ready(()),
            }
        }
    }
}

/// The head of an answer (RFC 9112) whose body ends with the connection.
fn head(parts: &response::Parts) -> Bytes {
    let mut head = format!("HTTP/1.1 {}\r\nconnection: close\r\n", parts.status);
    if let Ok(date) = DateTimePrinter::new().timestamp_to_rfc9110_string(&Timestamp::now()) {
        let _ = write!(head, "date: {date}\r\n");
    }
    let mut head = head.into_bytes();
    for (name, value) in &parts.headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head.into()
}

#[cfg(test)]
mod tests;
