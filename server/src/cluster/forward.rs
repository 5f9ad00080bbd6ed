//! A standby's side of forwarded requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::StatusCode as NatsStatus;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::StreamExt as _;
use hub_protocol::Seq;

use super::Cluster;
use super::wire::{self, CallHead, CallId, RequestHead, ResponseHead};

/// A call that the active hub does not report for this long is lost.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often it is looked for.
const LOOK: Duration = Duration::from_secs(1);
/// How long an answer waits until this hub's log includes what the active hub's did.
const READ_OWN_WRITES: Duration = Duration::from_secs(1);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The outcome of one attempt.
pub(super) enum Forwarded {
    /// The active hub's answer.
    Answer(Response),
    /// No hub took the call.
    Refused,
    /// The active hub may have carried it out; the answer is lost.
    Lost,
}

/// An open call. Dropping it before the answer ends the call at the active hub.
struct OpenCall<'a> {
    cluster: &'a Cluster,
    id: CallId,
    subject: String,
    answered: bool,
}

impl<'a> OpenCall<'a> {
    fn new(cluster: &'a Cluster, id: CallId, subject: String) -> Self {
        cluster.open_calls().insert(id.clone());
        Self {
            cluster,
            id,
            subject,
            answered: false,
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.cluster.open_calls().remove(&self.id);
        if self.answered {
            return;
        }
        let (client, subject) = (self.cluster.0.client.clone(), self.subject.clone());
        let cancel = wire::encode(&CallHead::Cancel(self.id.clone()), &[]);
        tokio::spawn(async move {
            if let Err(error) = client.publish(subject, cancel).await {
                tracing::debug!(%error, "a call was not cancelled");
            }
        });
    }
}

/// Returns a new id for a call.
pub(super) fn new_id(cluster: &Cluster) -> CallId {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", cluster.0.run)
}

/// Sends a request to the active hub.
pub(super) async fn forward(cluster: &Cluster, request: &RequestHead, body: &Bytes) -> Forwarded {
    let inner = &*cluster.0;
    let Ok(Some(term)) = inner
        .hub
        .read(|state, _| state.leader().map(|(term, _)| *term))
    else {
        return Forwarded::Refused;
    };
    let subject = cluster.subject(&format!("call.{term}.{}", inner.node));
    let inbox = inner.client.new_inbox();
    let Ok(mut replies) = inner.client.subscribe(inbox.clone()).await else {
        return Forwarded::Refused;
    };
    let head = CallHead::Open(RequestHead {
        id: new_id(cluster),
        ..request.clone()
    });
    let message = wire::encode(&head, body);
    let CallHead::Open(RequestHead { id, .. }) = head else {
        return Forwarded::Refused;
    };
    let mut call = OpenCall::new(cluster, id, subject.clone());
    let sent = inner.client.publish_with_reply(subject, inbox, message);
    if sent.await.is_err() {
        return Forwarded::Refused;
    }
    let mut heard = Instant::now();
    loop {
        let reply = match tokio::time::timeout(LOOK, replies.next()).await {
            Ok(Some(reply)) => reply,
            Ok(None) => return Forwarded::Lost,
            Err(_) => {
                heard = inner
                    .nodes
                    .holder_heard(&inner.node, &call.id)
                    .map_or(heard, |it| it.max(heard));
                if heard.elapsed() > PATIENCE {
                    return Forwarded::Lost;
                }
                continue;
            }
        };
        call.answered = true;
        if reply.status == Some(NatsStatus::NO_RESPONDERS) {
            return Forwarded::Refused;
        }
        return match response(&reply.payload) {
            Some((response, head)) => {
                reached(cluster, head).await;
                Forwarded::Answer(response)
            }
            None => Forwarded::Lost,
        };
    }
}

fn response(message: &Bytes) -> Option<(Response, Seq)> {
    let (head, body) = wire::decode::<ResponseHead>(message)?;
    let (status, headers) = head.parts()?;
    let mut response = Response::new(Body::from(body));
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    Some((response, head.head))
}

/// Waits until this hub's log has reached `head`, so that the client reads here what it has just written.
async fn reached(cluster: &Cluster, head: Seq) {
    let mut own = cluster.0.hub.log().subscribe();
    let _ = tokio::time::timeout(READ_OWN_WRITES, own.wait_for(|it| *it >= head)).await;
}
