//! Request bodies with a deadline, and response bodies that keep their connection busy.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hub_core::sync;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use super::slots::{BusyGuard, ConnectionStatus};

/// The largest body, in bytes, that is read although no route wants it.
const SMALL: u64 = 64 << 10;
/// How long such a body may be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

/// A request's body that must be complete before a deadline. The timer is created only if the body has to be waited
/// for.
pub(super) struct TimedBody {
    /// `None` once it was returned.
    body: Option<Incoming>,
    /// Takes the body back if it was not read.
    unread: Arc<Mutex<Option<Incoming>>>,
    status: ConnectionStatus,
    deadline: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, status: ConnectionStatus, limit: Duration) -> Self {
        Self {
            body: Some(body),
            unread: Arc::default(),
            status,
            deadline: Instant::now() + limit,
            timer: None,
        }
    }

    /// The place into which the body is put if it is dropped unread.
    pub(super) fn unread(&self) -> Unread {
        Unread(Arc::clone(&self.unread))
    }
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        let unread = self.body.take().filter(|it| !it.is_end_stream());
        *sync::lock(&self.unread) = unread;
    }
}

/// A request's body that nobody has read.
pub(super) struct Unread(Arc<Mutex<Option<Incoming>>>);

impl Unread {
    /// Reads what is left of a small body. A connection that is closed with input in it loses its answer, and many clients
    /// send the body in a packet of its own.
    pub(super) async fn drain(self) {
        let Some(body) = sync::lock(&self.0).take() else {
            return;
        };
        if body.size_hint().upper().is_some_and(|it| it <= SMALL) {
            let _ = tokio::time::timeout(ON_ITS_WAY, body.collect()).await;
        }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        // hyper has returned all bytes before the end of input, which the guard hides from it.
        if self.status.input_has_ended() {
            return Poll::Ready(Some(Err(
                io::Error::from(io::ErrorKind::UnexpectedEof).into()
            )));
        }
        let deadline = self.deadline;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(SizeHint::default, Body::size_hint)
    }
}

/// A response's body. Its connection counts as busy until the body is written.
pub(super) struct ResponseBody {
    pub(super) body: axum::body::Body,
    pub(super) _busy: BusyGuard,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
