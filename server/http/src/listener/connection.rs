//! One connection, from accept to close.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use axum::http::{Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use hub_config::Limits;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::body::{ResponseBody, TimedBody};
use super::head_scanner::{HeadQueue, RequestHead};
use super::io_guard::IoGuard;
use super::slots::{BusyGuard, ConnectionStatus, Slot};
use super::stream::{StreamConnection, StreamHandoff};
use crate::error::{ApiError, Code};
use crate::guard::Guarded;
use crate::peer::Peer;
use crate::routes::{self, Property};

/// The largest request header in bytes. It is also the buffer of a waiting connection, so it determines their memory.
const HEADER_BYTES: usize = 8192;

/// Bytes that are read and discarded before a refused connection is closed. Without this, closing with unread bytes
/// would reset the connection, and the client would lose the answer.
const LINGER_BYTES: u64 = 4 << 20;
const LINGER: Duration = Duration::from_secs(1);

/// The state that all connections share.
pub(super) struct Server {
    app: Guarded,
    http: http1::Builder,
    body_timeout: Duration,
    write_timeout: Duration,
    pub(super) shutdown: CancellationToken,
    pub(super) connections: TaskTracker,
}

type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send + 'a>>;

/// How hyper's part of a connection ends.
enum ConnectionEnd {
    Closed(Result<(), hyper::Error>),
    Stream(Response<ResponseBody>),
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
            connections: TaskTracker::new(),
        }
    }

    /// Answers the requests of one connection until it ends, becomes a stream, or is cut: another one needs its slot,
    /// while it is idle or has shown no token, or the hub shuts down.
    pub(super) async fn serve_connection<S>(self: Arc<Self>, stream: S, peer: Peer, slot: Slot)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let answering = self.answer_all(stream, peer, slot.status());
        let stream = slot.status().cut().run_until_cancelled(answering).await;
        if let Some(stream) = stream.flatten() {
            // In a task of its own, because this task keeps memory for HTTP requests that a stream does not need.
            self.connections.spawn(stream.run(slot));
        }
    }

    async fn answer_all<S>(
        &self,
        stream: S,
        peer: Peer,
        status: &ConnectionStatus,
    ) -> Option<StreamConnection<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let heads = HeadQueue::default();
        let guard = IoGuard::new(stream, self.write_timeout, status.clone(), heads.clone());
        let io = TokioIo::new(guard);
        let exit = StreamHandoff::default();
        let service = service_fn(|request: Request<Incoming>| {
            let properties = routes::properties(request.method(), request.uri().path());
            let has = |it| properties.contains(&it);
            status.begin_request(has(Property::Public), !has(Property::Late));
            match heads.take().fault().or_else(|| coding_fault(&request)) {
                Some(fault) => refuse(fault, status.occupy()),
                None => self.answer(request, peer, status, &exit),
            }
        });
        let mut connection = self.http.serve_connection(io, service);
        let mut ending = false;
        let end = loop {
            tokio::select! {
                end = poll_fn(|cx| {
                    let polled = connection.poll_without_shutdown(cx);
                    exit.take().map_or(polled.map(ConnectionEnd::Closed), |answer| Poll::Ready(ConnectionEnd::Stream(answer)))
                }) => break end,
                () = self.shutdown.cancelled(), if !ending => {
                    ending = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        };
        // A client that disconnected while its request was answered gets no error, because the request was valid.
        let was_busy = status.is_busy();
        let parts = connection.into_parts();
        let io = parts.io.into_inner();
        let ended = match end {
            ConnectionEnd::Stream(answer) => return Some(StreamConnection::new(io, answer)),
            ConnectionEnd::Closed(ended) => ended,
        };
        let protocol_error = ended
            .err()
            .filter(|_| !was_busy)
            .and_then(|error| protocol_error(&error, &io, heads.take(), &parts.read_buf));
        // Boxed, so that an idle connection does not reserve memory for its close.
        Box::pin(close(io, protocol_error)).await;
        None
    }

    fn answer<'a>(
        &'a self,
        request: Request<Incoming>,
        peer: Peer,
        status: &ConnectionStatus,
        exit: &'a StreamHandoff,
    ) -> ResponseFuture<'a> {
        let busy = status.occupy();
        let (parts, body) = request.into_parts();
        let body = TimedBody::new(body, status.clone(), self.body_timeout);
        let unread = body.unread();
        let mut request = Request::from_parts(parts, Body::new(body));
        request.extensions_mut().insert(peer);
        Box::pin(async move {
            let response = self.app.answer(request).await;
            unread.drain().await;
            let response = response.map(|body| ResponseBody { body, _busy: busy });
            Ok(exit.unless_endless(response).await)
        })
    }
}

/// The fault in a request's Transfer-Encoding, if any. hyper accepts codings that it does not decode.
fn coding_fault(request: &Request<Incoming>) -> Option<&'static str> {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    let first = codings.next()?;
    let chunked = first.as_bytes().eq_ignore_ascii_case(b"chunked") && codings.next().is_none();
    (!chunked).then_some("the only Transfer-Encoding is chunked")
}

/// Refuses a request and closes the connection. The end of its body is ambiguous, so no request behind it can be read.
fn refuse(fault: &'static str, busy: BusyGuard) -> ResponseFuture<'static> {
    let mut response = ApiError::new(Code::Malformed, fault).into_response();
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    let response = response.map(|body| ResponseBody { body, _busy: busy });
    Box::pin(std::future::ready(Ok(response)))
}

/// Closes a connection without a reset, after sending the error that hyper could not send.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(
    mut io: IoGuard<S>,
    protocol_error: Option<Code>,
) {
    if let Some(code) = protocol_error {
        tracing::debug!(code = code.as_str(), "refused bytes that are not a request");
        let _ = io.write_all(&raw_error_response(code)).await;
    }
    let _ = io.shutdown().await;
    let mut rest = io.take(LINGER_BYTES);
    let _ = tokio::time::timeout(LINGER, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
}

/// The error for a client whose request never reached the router; `None` if no answer is needed.
fn protocol_error<S>(
    error: &hyper::Error,
    io: &IoGuard<S>,
    head: RequestHead,
    unread: &[u8],
) -> Option<Code> {
    if let Some(status) = io.refused() {
        if head.is_huge() {
            return Some(Code::PayloadTooLarge);
        }
        // hyper answers 431 whenever its buffer is full; if no line has ended, the URI filled it.
        if status == 431 && !unread.contains(&b'\n') {
            return Some(Code::UriTooLong);
        }
        return Some(StatusCode::from_u16(status).map_or(Code::Malformed, Code::of_status));
    }
    if !io.has_input() {
        return None;
    }
    if error.is_timeout() {
        return Some(Code::Timeout);
    }
    (error.is_parse() || error.is_incomplete_message()).then_some(Code::Malformed)
}

/// An error as a complete HTTP response, the last bytes of a connection.
fn raw_error_response(code: Code) -> Vec<u8> {
    use std::io::Write as _;
    let json = serde_json::to_vec(&ApiError::from(code).problem()).unwrap_or_default();
    let mut bytes = Vec::new();
    let _ = write!(
        bytes,
        "HTTP/1.1 {}\r\nconnection: close\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n",
        code.status(),
        crate::error::PROBLEM_JSON,
        json.len()
    );
    bytes.extend_from_slice(&json);
    bytes
}
