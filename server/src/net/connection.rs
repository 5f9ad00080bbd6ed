//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::TRANSFER_ENCODING;
use axum::http::{Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Peer;
use super::body::{Answer, Timed};
use super::io_guard::IoGuard;
use super::slots::{Busy, Line, Slot};
use super::stream::{Exit, Stream};
use crate::api::error::{ApiError, Code};
use crate::config::Limits;
use crate::guard::Guarded;

/// The largest header. It is also the buffer of a waiter, so it decides what ten thousand of them cost.
const HEADER_BYTES: usize = 8192;

/// What a refused client may still send until the connection is closed: closing with unread bytes would reset it, and
/// the client would lose the answer.
const LINGER_BYTES: u64 = 4 << 20;
const LINGER: Duration = Duration::from_secs(1);

/// What all connections share.
pub(super) struct Server {
    app: Guarded,
    http: http1::Builder,
    body_timeout: Duration,
    write_timeout: Duration,
    pub(super) shutdown: CancellationToken,
    /// Ends what did not end by itself.
    pub(super) cut: CancellationToken,
    pub(super) connections: TaskTracker,
}

type Answering<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send + 'a>>;

/// How the conversation over a connection ends.
enum End {
    Closed(Result<(), hyper::Error>),
    Stream(Response<Answer>),
}

impl Server {
    pub(super) fn new(app: Guarded, limits: &Limits, shutdown: CancellationToken) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout())
            .max_buf_size(HEADER_BYTES);
        Self {
            app,
            http,
            body_timeout: limits.body_timeout(),
            write_timeout: limits.write_timeout(),
            shutdown,
            cut: CancellationToken::new(),
            connections: TaskTracker::new(),
        }
    }

    /// Answers the requests of one connection until it ends, becomes a stream, is evicted, or shutdown cuts it.
    pub(super) async fn converse<S>(self: Arc<Self>, stream: S, peer: Peer, slot: Slot)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let answering = self.answer_all(stream, peer, slot.line());
        let stream = self.cut.run_until_cancelled(answering).await.flatten();
        if let Some(stream) = stream {
            // A task of its own, without the room that a conversation takes.
            let cut = self.cut.clone();
            self.connections.spawn(stream.run(cut, slot));
        }
    }

    async fn answer_all<S>(&self, stream: S, peer: Peer, line: &Line) -> Option<Stream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(IoGuard::new(stream, self.write_timeout, line.clone()));
        let exit = Exit::default();
        let service = service_fn(|request: Request<Incoming>| {
            let coded = request.headers().contains_key(TRANSFER_ENCODING);
            if line.take_two_lengths() && coded {
                return refuse(line.occupy());
            }
            self.answer(request, peer, line, &exit)
        });
        let mut connection = self.http.serve_connection(io, service);
        let mut ending = false;
        let end = loop {
            tokio::select! {
                end = poll_fn(|cx| {
                    let polled = connection.poll_without_shutdown(cx);
                    exit.take().map_or(polled.map(End::Closed), |answer| Poll::Ready(End::Stream(answer)))
                }) => break end,
                // Nothing is under way: there is nothing to say, and somebody waits for the place.
                () = line.evicted() => return None,
                () = self.shutdown.cancelled(), if !ending => {
                    ending = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        };
        let parts = connection.into_parts();
        let io = parts.io.into_inner();
        let ended = match end {
            End::Stream(answer) => return Some(Stream::new(io, answer)),
            End::Closed(ended) => ended,
        };
        let complaint = ended
            .err()
            // Who leaves while being answered wants no answer; it would be a wrong one besides.
            .filter(|_| !line.is_busy())
            .and_then(|error| complaint(&error, &io, &parts.read_buf));
        // Boxed, so that an idle connection does not hold the room for its end.
        Box::pin(close(io, complaint)).await;
        None
    }

    fn answer<'a>(
        &self,
        request: Request<Incoming>,
        peer: Peer,
        line: &Line,
        exit: &'a Exit,
    ) -> Answering<'a> {
        let busy = line.occupy();
        let mut request = request.map(|body| Body::new(Timed::new(body, self.body_timeout)));
        request.extensions_mut().insert(peer);
        let answering = self.app.clone().answer(request);
        Box::pin(async move {
            let response = answering.await;
            let response = response.map(|body| Answer { body, _busy: busy });
            Ok(exit.unless_endless(response).await)
        })
    }
}

fn refuse(busy: Busy) -> Answering<'static> {
    let detail = "a request has Content-Length or Transfer-Encoding, not both";
    let response = ApiError::new(Code::Malformed, detail).into_response();
    let response = response.map(|body| Answer { body, _busy: busy });
    Box::pin(std::future::ready(Ok(response)))
}

/// Says why, if hyper could not, and closes without a reset.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(mut io: IoGuard<S>, complaint: Option<Code>) {
    if let Some(code) = complaint {
        tracing::debug!(code = code.as_str(), "refused what is no request");
        let _ = io.write_all(&last_words(code)).await;
    }
    let _ = io.shutdown().await;
    let mut rest = io.take(LINGER_BYTES);
    let _ = tokio::time::timeout(LINGER, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
}

/// What to tell a client whose request never reached the router.
fn complaint<S>(error: &hyper::Error, io: &IoGuard<S>, unread: &[u8]) -> Option<Code> {
    if let Some(status) = io.refused() {
        // hyper says 431 whenever its buffer is full; without a line's end it is the URI that filled it.
        if status == 431 && !unread.contains(&b'\n') {
            return Some(Code::UriTooLong);
        }
        return Some(StatusCode::from_u16(status).map_or(Code::Malformed, Code::of_status));
    }
    if !io.heard() {
        return None;
    }
    if error.is_timeout() {
        return Some(Code::Timeout);
    }
    (error.is_parse() || error.is_incomplete_message()).then_some(Code::Malformed)
}

/// An error as the last bytes of a connection.
fn last_words(code: Code) -> Vec<u8> {
    use std::io::Write as _;
    let json = serde_json::to_vec(&ApiError::from(code).problem()).unwrap_or_default();
    let mut bytes = Vec::new();
    let _ = write!(
        bytes,
        "HTTP/1.1 {}\r\nconnection: close\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n",
        code.status(),
        crate::api::error::PROBLEM_JSON,
        json.len()
    );
    bytes.extend_from_slice(&json);
    bytes
}
