//! REF, a minimal server on the hub's stack: axum, one writer thread, sled with one insert a record, and one broadcast
//! channel. It parses requests; it has no guard, no inboxes and no leases. Its memory mode stands for servers that
//! store nothing.

mod store;
mod stream;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc, oneshot};

use store::{Append, Store};

/// Settings of the reference server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) workers: usize,
    /// Whether to skip the store.
    pub(crate) memory: bool,
}

/// A notification as stored and as shown to readers.
#[derive(Debug, Clone)]
struct Stored {
    id: u64,
    json: Bytes,
    /// The server-sent event, serialised once for all readers.
    frame: Bytes,
}

#[derive(Debug, Deserialize)]
struct Draft {
    from: String,
    to: String,
    #[serde(rename = "type")]
    kind: String,
    msg: String,
    data: Box<RawValue>,
}

#[derive(Clone)]
struct Reference {
    appends: mpsc::Sender<Append>,
    live: broadcast::Sender<Stored>,
    store: Option<Arc<Store>>,
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug, Deserialize)]
struct Since {
    since: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Wait {
    timeout: u64,
    ack: Option<u64>,
}

/// Serves on a free port of the loopback until the process ends.
pub(crate) fn serve(state_dir: &Path, options: Options) -> Result<()> {
    let store = if options.memory {
        None
    } else {
        Some(Arc::new(Store::open(state_dir)?))
    };
    let mut runtime = match options.workers {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime
        .worker_threads(options.workers)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("axum listening on http://{}", listener.local_addr()?);
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router(store)).await?;
        Ok(())
    })
}

fn router(store: Option<Arc<Store>>) -> Router {
    let (live, _) = broadcast::channel(16 * 1024);
    let appends = store::start_writer(store.clone(), live.clone());
    Router::new()
        .route("/notify", post(notify))
        .route("/events", get(events))
        .route("/wait", get(wait))
        .route("/inboxes", get(inboxes))
        .with_state(Reference {
            appends,
            live,
            store,
            waiting: Arc::default(),
        })
}

async fn notify(
    State(reference): State<Reference>,
    body: Bytes,
) -> Result<impl IntoResponse, StatusCode> {
    let batch = body.first() == Some(&b'[');
    let drafts: Vec<Draft> = if batch {
        serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?
    } else {
        vec![serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?]
    };
    let (answer, answered) = oneshot::channel();
    let append = Append { drafts, answer };
    let gone = |()| StatusCode::SERVICE_UNAVAILABLE;
    reference.appends.send(append).await.map_err(|_| gone(()))?;
    let ids = answered.await.map_err(|_| gone(()))?;
    let text = match (batch, ids.as_slice()) {
        (false, [id]) => format!(r#"{{"id":{id}}}"#),
        _ => serde_json::json!({ "ids": ids }).to_string(),
    };
    Ok((
        StatusCode::CREATED,
        [(header::CONTENT_TYPE, "application/json")],
        text,
    ))
}

async fn events(State(reference): State<Reference>, Query(query): Query<Since>) -> Response {
    let events = stream::events(reference.live.subscribe(), reference.store, query.since);
    let head = [(header::CONTENT_TYPE, "text/event-stream")];
    (head, Body::from_stream(events)).into_response()
}

async fn wait(State(reference): State<Reference>, Query(query): Query<Wait>) -> Response {
    let mut live = reference.live.subscribe();
    let missed = match (&reference.store, query.ack) {
        (Some(store), Some(last)) => store.after(last),
        _ => Vec::new(),
    };
    if !missed.is_empty() {
        return reply(&missed);
    }
    reference.waiting.fetch_add(1, Ordering::Relaxed);
    let next = tokio::time::timeout(Duration::from_secs(query.timeout), live.recv()).await;
    reference.waiting.fetch_sub(1, Ordering::Relaxed);
    match next {
        Ok(Ok(stored)) => reply(&[(stored.id, stored.json)]),
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}

fn reply(found: &[(u64, Bytes)]) -> Response {
    let texts: Vec<_> = found
        .iter()
        .map(|(_, json)| String::from_utf8_lossy(json))
        .collect();
    let last = found.last().map_or(0, |(id, _)| *id);
    let text = format!(
        r#"{{"notifications":[{}],"lease":"{last}"}}"#,
        texts.join(",")
    );
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Lists the only inbox, with a waiter if there is a subscriber.
async fn inboxes(State(reference): State<Reference>) -> Json<serde_json::Value> {
    let waiter = (reference.waiting.load(Ordering::Relaxed) > 0).then_some("someone");
    Json(serde_json::json!({ "inboxes": [{ "name": "*", "waiter": waiter }] }))
}
