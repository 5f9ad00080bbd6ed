//! Request bodies with a deadline, and response bodies that keep their connection busy.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use super::slots::{BusyGuard, ConnectionStatus};

/// A request's body that must be complete before a deadline. The timer is created only if the body has to be waited
/// for.
pub(super) struct TimedBody {
    body: Incoming,
    status: ConnectionStatus,
    deadline: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, status: ConnectionStatus, limit: Duration) -> Self {
        Self {
            body,
            status,
            deadline: Instant::now() + limit,
            timer: None,
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
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
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
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
