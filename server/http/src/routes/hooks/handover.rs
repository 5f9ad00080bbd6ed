//! The delivery of an answer to a held hook: the answer counts as delivered when its response was written.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use hub_core::command::Command;
use hub_core::waiters::Held;
use hub_engine::Hub;
use hub_protocol::Seq;
use tokio::runtime::Handle;

/// A held request and its question. When it is dropped, the hub notes whether the agent got the answer; if not, the
/// question is open again, because the agent's own dialog waits for the answer.
pub(super) struct Handover {
    hub: Hub,
    question: Seq,
    held: Option<Held>,
    /// The event that reports that the session goes on.
    worked: Option<Command>,
    written: bool,
}

impl Handover {
    pub(super) fn new(hub: &Hub, question: Seq, held: Held, worked: Command) -> Self {
        Self {
            hub: hub.clone(),
            question,
            held: Some(held),
            worked: Some(worked),
            written: false,
        }
    }

    /// Returns once this hub cannot take an answer any more, because another one of the cluster is active.
    pub(super) async fn forgotten(&mut self) {
        if let Some(held) = &mut self.held {
            held.forgotten().await;
        }
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        let (hub, held, worked) = (self.hub.clone(), self.held.take(), self.worked.take());
        let note = Command::NoteAnswer {
            question: self.question,
            delivered: self.written,
        };
        // The hook asks the next hub again, which still has an answer for it.
        if !self.written && (hub.shutdown().is_cancelled() || hub.is_standby()) {
            return;
        }
        // The hub stops if there is no runtime.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        // An answer that comes after the request has ended is refused, so this note sees every accepted one.
        let held = held.filter(|_| self.written);
        let worked = worked.filter(|_| self.written);
        runtime.spawn(async move {
            for command in [Some(note), worked].into_iter().flatten() {
                if let Err(error) = hub.submit(command).await {
                    tracing::warn!(%error, "cannot note the delivery of an answer");
                }
            }
            drop(held);
        });
    }
}

/// The body of the response to a held request.
pub(super) struct HandoverBody {
    bytes: Option<Bytes>,
    handover: Option<Handover>,
}

impl HandoverBody {
    pub(super) fn new(bytes: Bytes, handover: Option<Handover>) -> Self {
        Self {
            bytes: Some(bytes),
            handover,
        }
    }
}

impl Body for HandoverBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let bytes = this.bytes.take();
        if let (Some(_), Some(handover)) = (&bytes, &mut this.handover) {
            handover.written = true;
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.bytes.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(left as u64)
    }
}
