//! The active hub's side of forwarded requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_nats::{Message, Subject};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::HOST;
use axum::response::IntoResponse;
use futures_util::StreamExt as _;
use hub_core::command::Command;
use hub_core::rejected::Rejected;
use hub_core::sync;
use hub_http::error::{ApiError, Code};
use hub_http::peer::{CallerKind, Peer};
use hub_http::request::local::Origin;
use hub_log::journal::Journal as _;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower::ServiceExt as _;
use tower_http::catch_panic::CatchPanicLayer;

use super::nodes::Nodes;
use super::replay::ReceivedCalls;
use super::wire::{self, CallHead, CallId, CallRequest, ResponseHead, Submitted};
use super::{Cluster, Role, front, handover};
use crate::journal::MAX_MESSAGE;
use crate::nats::{Nats, Outgoing};

/// A call that its node does not list for this long is dropped: its client has gone.
const PATIENCE: Duration = Duration::from_secs(4);
/// Room for the head of an answer.
const HEAD_ROOM: usize = 64 << 10;
/// Warnings of nodes that do not sign their calls.
const MAX_WARNINGS: usize = 100;
/// The pause before subscribing again.
const RETRY: Duration = Duration::from_millis(500);

/// The calls that this hub works on, by node and id.
#[derive(Default)]
pub(super) struct HeldCalls {
    calls: Mutex<BTreeMap<(String, CallId), HeldCall>>,
    /// The nodes whose calls were not signed.
    unsigned: Mutex<BTreeSet<String>>,
    /// The signed calls of this term.
    received: Mutex<ReceivedCalls>,
}

struct HeldCall {
    since: Instant,
    task: JoinHandle<()>,
}

impl Drop for HeldCall {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HeldCalls {
    fn table(&self) -> MutexGuard<'_, BTreeMap<(String, CallId), HeldCall>> {
        sync::lock(&self.calls)
    }

    /// Logs once that a node does not sign its calls. Whoever forges calls can invent names, so there is an end to it.
    fn warn_of(&self, node: &str) {
        let mut known = sync::lock(&self.unsigned);
        if known.len() < MAX_WARNINGS && known.insert(node.to_owned()) {
            tracing::warn!(
                node,
                "its calls are not signed with its key in cluster.nodes: it counts as an unknown caller"
            );
        }
    }

    pub(super) fn ids(&self) -> Vec<(String, CallId)> {
        self.table().keys().cloned().collect()
    }

    /// Drops calls whose clients have gone.
    pub(super) fn drop_unwanted(&self, nodes: &Nodes) {
        self.table()
            .retain(|(node, id), call| nodes.wants(node, id, call.since, PATIENCE));
    }
}

/// Answers forwarded calls while this hub is active.
pub(super) async fn serve(cluster: &Cluster<impl Nats>, routes: Router) {
    let routes = routes.layer(CatchPanicLayer::new());
    let mut role = cluster.0.role.subscribe();
    loop {
        let current = *role.borrow_and_update();
        let changed = role.changed();
        if let Role::Active { term } = current {
            tokio::select! {
                biased;
                _ = changed => {}
                () = serve_term(cluster, &routes, term) => continue,
            }
            // The nodes send these calls to the next active hub.
            cluster.0.held.table().clear();
        } else if changed.await.is_err() {
            return;
        }
    }
}

/// Answers the calls of one term; returns if the subscription ends.
async fn serve_term(cluster: &Cluster<impl Nats>, routes: &Router, term: u64) {
    let subject = cluster.subject(&format!("call.{term}.*"));
    match cluster.0.nats.subscribe(subject).await {
        Ok(mut calls) => {
            while let Some(message) = calls.next().await {
                accept(cluster, routes, term, message).await;
            }
        }
        Err(error) => tracing::warn!(%error, "calls of other hubs cannot be received"),
    }
    tokio::time::sleep(RETRY).await;
}

async fn accept(cluster: &Cluster<impl Nats>, routes: &Router, term: u64, message: Message) {
    let node = message.subject.rsplit('.').next();
    let node = node.unwrap_or_default().to_owned();
    let signed = cluster.0.keys.has_signed(&node, &message);
    if !signed {
        cluster.0.held.warn_of(&node);
    }
    let Some((head, body)) = wire::decode::<CallHead>(&message.payload) else {
        tracing::warn!(node, "a call of another hub cannot be read");
        return;
    };
    // A cancelled call is noted too: it may arrive after its end.
    let is_new = !signed || sync::lock(&cluster.0.held.received).note(term, &node, head.id());
    if !is_new && !matches!(head, CallHead::Cancel(_)) {
        tracing::warn!(
            node,
            id = head.id(),
            "a call of another hub was received before: it is not carried out again"
        );
        return;
    }
    match (head, message.reply) {
        (CallHead::Cancel(id), _) => cancel(cluster, (node, id)).await,
        (CallHead::Open(request), Some(reply)) => {
            let (own, routes, id) = (cluster.clone(), routes.clone(), request.id.clone());
            let work = async move {
                answer(&own, routes, (&request, signed), body, reply).await;
            };
            start(cluster, (node, id), work);
        }
        (CallHead::Submit { id, command }, Some(reply)) => {
            let own = cluster.clone();
            start(cluster, (node, id), async move {
                submit(&own, *command, signed, reply).await;
            });
        }
        (CallHead::HandOver { id, node: heir }, Some(reply)) => {
            let own = cluster.clone();
            start(cluster, (node, id), async move {
                let outcome = match handover::begin(&own, &heir) {
                    Ok(()) => Submitted::Later,
                    Err(reason) => Submitted::Refused(reason),
                };
                send(&own, reply, &outcome).await;
            });
        }
        (CallHead::Open(_) | CallHead::Submit { .. } | CallHead::HandOver { .. }, None) => {}
    }
}

/// Works on a call in a task of its own, which is listed until it ends.
fn start(
    cluster: &Cluster<impl Nats>,
    key: (String, CallId),
    work: impl Future<Output = ()> + Send + 'static,
) {
    // Locked until the task is listed, so that it cannot end before.
    let mut table = cluster.0.held.table();
    let (own, done) = (cluster.clone(), key.clone());
    let task = tokio::spawn(async move {
        work.await;
        own.0.held.table().remove(&done);
    });
    let since = Instant::now();
    table.insert(key, HeldCall { since, task });
}

/// Carries out a command of another hub's bridges, which decide who speaks: only a hub that is known makes one.
async fn submit(cluster: &Cluster<impl Nats>, command: Command, signed: bool, reply: Subject) {
    let outcome = if !signed {
        Submitted::Later
    } else if command.is_from_outside() {
        match cluster.0.hub.submit(command).await {
            Ok(done) => Submitted::Done {
                ids: done.ids,
                head: cluster.0.journal.head(),
            },
            Err(Rejected::Refused(refusal)) => Submitted::Refused(refusal.to_string()),
            Err(_) => Submitted::Later,
        }
    } else {
        Submitted::Refused("only the active hub makes this command".into())
    };
    send(cluster, reply, &outcome).await;
}

/// Answers a command of another hub.
async fn send(cluster: &Cluster<impl Nats>, reply: Subject, outcome: &Submitted) {
    let answer = Outgoing::new(reply, wire::encode(outcome, &[]));
    let sent = cluster.0.nats.publish(answer);
    if let Err(error) = sent.await {
        tracing::warn!(%error, "an answer could not be sent to another hub");
    }
}

/// Ends a call, and returns when its waiter is gone, so that the same client can wait again.
async fn cancel(cluster: &Cluster<impl Nats>, key: (String, CallId)) {
    let call = cluster.0.held.table().remove(&key);
    if let Some(mut call) = call {
        call.task.abort();
        let _ = (&mut call.task).await;
    }
}

async fn answer(
    cluster: &Cluster<impl Nats>,
    routes: Router,
    (request, signed): (&CallRequest, bool),
    body: Bytes,
    reply: Subject,
) {
    let Some((method, uri, headers)) = request.parts() else {
        tracing::warn!(uri = request.uri, "a call of another hub is not valid");
        return;
    };
    let mut call = Request::new(Body::from(body));
    (*call.method_mut(), *call.uri_mut(), *call.headers_mut()) = (method.clone(), uri, headers);
    // The hub that took the request has checked its host; a server of MCP refuses a request without one.
    call.headers_mut()
        .insert(HOST, HeaderValue::from_static("localhost"));
    let (dashboard, kind, lineage) = if signed {
        (request.dashboard, request.caller, request.lineage.clone())
    } else {
        (false, CallerKind::Unknown, None)
    };
    call.extensions_mut()
        .insert(Peer::Relayed { dashboard, kind });
    call.extensions_mut().insert(Origin(lineage));
    let path = call.uri().path().to_owned();
    let Ok(response) = routes.oneshot(call).await;
    let passive = !front::counts(cluster, (&method, &path), response.status());
    let response = if passive {
        ApiError::from(Code::NoActiveHub).into_response()
    } else {
        response
    };
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, MAX_MESSAGE - HEAD_ROOM).await;
    let (status, body) = match body {
        Ok(body) => (parts.status.as_u16(), body),
        Err(error) => {
            tracing::warn!(%error, uri = request.uri, "an answer is too large for another hub");
            (500, Bytes::new())
        }
    };
    let head = ResponseHead {
        status,
        headers: wire::to_pairs(&parts.headers),
        head: cluster.0.journal.head(),
        unsigned: !signed,
        passive,
    };
    let answer = Outgoing::new(reply, wire::encode(&head, &body));
    let sent = cluster.0.nats.publish(answer);
    if let Err(error) = sent.await {
        tracing::warn!(%error, "an answer could not be sent to another hub");
    }
}
