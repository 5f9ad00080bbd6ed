//! A standby's side of forwarded requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::StatusCode as NatsStatus;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::StreamExt as _;
use hub_core::command::{Command, Refusal};
use hub_core::record::Led;
use hub_core::rejected::Rejected;
use hub_engine::writer::Done;
use hub_protocol::Seq;
use tokio::time::Instant;

use super::Cluster;
use super::wire::{self, CallHead, CallId, CallRequest, ResponseHead, Submitted};
use crate::nats::{Nats, Outgoing};

/// A call that the active hub does not report for this long is lost.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(500);
/// How long an answer of a hub that is not active any more may be on its way.
const GRACE: Duration = Duration::from_millis(100);
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
struct OpenCall<'a, N: Nats> {
    cluster: &'a Cluster<N>,
    id: CallId,
    subject: String,
    answered: bool,
}

impl<'a, N: Nats> OpenCall<'a, N> {
    fn new(cluster: &'a Cluster<N>, id: CallId, subject: String) -> Self {
        cluster.open_calls().insert(id.clone());
        Self {
            cluster,
            id,
            subject,
            answered: false,
        }
    }
}

impl<N: Nats> Drop for OpenCall<'_, N> {
    fn drop(&mut self) {
        self.cluster.open_calls().remove(&self.id);
        if self.answered {
            return;
        }
        let (nats, subject) = (self.cluster.0.nats.clone(), self.subject.clone());
        let cancel = wire::encode(&CallHead::Cancel(self.id.clone()), &[]);
        let headers = self.cluster.0.keys.sign(&subject, "", &cancel);
        let cancel = Outgoing {
            headers: Some(headers),
            ..Outgoing::new(subject, cancel)
        };
        tokio::spawn(async move {
            if let Err(error) = nats.publish(cancel).await {
                tracing::debug!(%error, "a call was not cancelled");
            }
        });
    }
}

/// Returns a new id for a call.
fn new_id(cluster: &Cluster<impl Nats>) -> CallId {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", cluster.0.run)
}

/// Sends a request to the active hub.
pub(super) async fn forward(
    cluster: &Cluster<impl Nats>,
    request: &CallRequest,
    body: &Bytes,
) -> Forwarded {
    let id = new_id(cluster);
    let head = CallHead::Open(CallRequest {
        id: id.clone(),
        ..request.clone()
    });
    match send(cluster, id, wire::encode(&head, body)).await {
        Sent::Reply(reply) => match wire::decode::<ResponseHead>(&reply) {
            Some((head, _)) if head.passive => Forwarded::Refused,
            Some((head, body)) => answered(cluster, &head, body).await,
            None => Forwarded::Lost,
        },
        Sent::Refused => Forwarded::Refused,
        Sent::Lost => Forwarded::Lost,
    }
}

/// Passes a command of this hub's bridges on to the active hub.
pub(super) async fn submit(
    cluster: &Cluster<impl Nats>,
    command: Command,
) -> Result<Done, Rejected> {
    let id = new_id(cluster);
    let head = CallHead::Submit {
        id: id.clone(),
        command: Box::new(command),
    };
    let Sent::Reply(reply) = send(cluster, id, wire::encode(&head, &[])).await else {
        return Err(Rejected::NoActiveHub);
    };
    match wire::decode::<Submitted>(&reply) {
        Some((Submitted::Done { ids, head }, _)) => {
            reached(cluster, head).await;
            Ok(Done {
                ids,
                ..Done::default()
            })
        }
        Some((Submitted::Refused(reason), _)) => Err(Refusal::Elsewhere(reason).into()),
        Some((Submitted::Later, _)) | None => Err(Rejected::NoActiveHub),
    }
}

/// Asks the active hub to hand over to `node`. Fails with the reason why it refuses; it may also give no answer.
pub(super) async fn hand_over(cluster: &Cluster<impl Nats>, node: &str) -> Result<(), String> {
    let id = new_id(cluster);
    let head = CallHead::HandOver {
        id: id.clone(),
        node: node.into(),
    };
    let Sent::Reply(reply) = send(cluster, id, wire::encode(&head, &[])).await else {
        return Ok(());
    };
    match wire::decode::<Submitted>(&reply) {
        Some((Submitted::Refused(reason), _)) => Err(reason),
        _ => Ok(()),
    }
}

/// The outcome of sending one message.
enum Sent {
    Reply(Bytes),
    Refused,
    Lost,
}

/// Sends the call `id` to the active hub, and waits for its answer as long as that hub works on it.
async fn send(cluster: &Cluster<impl Nats>, id: CallId, message: Bytes) -> Sent {
    let inner = &*cluster.0;
    let leader = inner.hub.read(|state, _| state.leader().cloned());
    // It may be this hub itself, which is not active any more.
    let may_answer = |active: &Led| active.node != inner.node && !inner.nodes.is_gone(&active.node);
    let Some((term, active)) = leader.ok().flatten().filter(|it| may_answer(&it.1)) else {
        return Sent::Refused;
    };
    let subject = cluster.subject(&format!("call.{term}.{}", inner.node));
    let inbox = inner.nats.new_inbox();
    let Ok(mut replies) = inner.nats.subscribe(inbox.clone()).await else {
        return Sent::Refused;
    };
    let mut call = OpenCall::new(cluster, id, subject.clone());
    let headers = inner.keys.sign(&subject, &inbox, &message);
    let message = Outgoing {
        reply: Some(inbox.into()),
        headers: Some(headers),
        ..Outgoing::new(subject, message)
    };
    if inner.nats.publish(message).await.is_err() {
        return Sent::Refused;
    }
    let mut alive = Instant::now();
    let mut is_over = false;
    loop {
        let pause = if is_over { GRACE } else { LOOK };
        match tokio::time::timeout(pause, replies.next()).await {
            Ok(Some(reply)) => {
                call.answered = true;
                let taken = reply.status != Some(NatsStatus::NO_RESPONDERS);
                return if taken {
                    Sent::Reply(reply.payload)
                } else {
                    Sent::Refused
                };
            }
            Ok(None) => return Sent::Lost,
            Err(_) if is_over => return Sent::Lost,
            Err(_) => {
                // A hub that stops being active drops its calls.
                is_over = current_term(cluster) > Some(term);
                let beat = inner
                    .nodes
                    .holder_beat(&active.node, (&inner.node, &call.id));
                alive = beat.map_or(alive, |it| it.max(alive));
                if alive.elapsed() > PATIENCE {
                    return Sent::Lost;
                }
            }
        }
    }
}

/// Returns the number of the newest term that this hub knows.
fn current_term(cluster: &Cluster<impl Nats>) -> Option<Seq> {
    let leader = cluster.0.hub.read(|state, _| state.leader().cloned());
    leader.ok().flatten().map(|(term, _)| term)
}

async fn answered(cluster: &Cluster<impl Nats>, head: &ResponseHead, body: Bytes) -> Forwarded {
    let Some((status, headers)) = head.parts() else {
        return Forwarded::Lost;
    };
    cluster.0.unknown.store(head.unsigned, Ordering::Relaxed);
    reached(cluster, head.head).await;
    let mut response = Response::new(Body::from(body));
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    Forwarded::Answer(response)
}

/// Waits until this hub's log has reached `head`, so that the client reads here what it has just written.
async fn reached(cluster: &Cluster<impl Nats>, head: Seq) {
    let mut own = cluster.0.hub.log().subscribe();
    let _ = tokio::time::timeout(READ_OWN_WRITES, own.wait_for(|it| *it >= head)).await;
}
