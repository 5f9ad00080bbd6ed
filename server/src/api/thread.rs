//! `GET /notifications?thread=ID`: a notification, what it replies to, and what replies to any of these.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use hub_protocol::Seq;
use serde::Deserialize;

use super::{ApiError, history, params};
use crate::hub::Hub;
use crate::journal::JournalError;
use crate::log::{CHUNK_BYTES, Log};
use crate::record::kinds;

/// Records looked at in one request.
const MAX_SCAN: usize = 200_000;
/// How far back a thread is followed: agents stop waking each other long before.
const MAX_DEPTH: usize = 64;

/// Notifications as they are stored, and whether each was put into an inbox.
type Said = BTreeMap<Seq, (Bytes, bool)>;

#[derive(Deserialize)]
struct Reply {
    reply_to: Option<Seq>,
}

/// The thread of `id` with its statuses, oldest first: everything up to it, and at most `limit` notifications.
pub(super) async fn thread(hub: &Hub, id: Seq, limit: usize) -> Result<Vec<Vec<u8>>, ApiError> {
    let said = ancestors(hub, id).await?;
    let log = Arc::clone(hub.log());
    let said = params::blocking(move || with_replies(&log, said, limit)).await?;
    let shown = hub.query(move |state, _| {
        let of = |(id, (json, routed)): (Seq, (Bytes, bool))| {
            history::with_status(&json, state.status(id, routed), state.is_seen(id))
        };
        said.into_iter().map(of).collect()
    });
    Ok(shown.await?)
}

/// A notification and what it replies to, as far as it is kept.
async fn ancestors(hub: &Hub, id: Seq) -> Result<Said, ApiError> {
    let mut said = Said::new();
    let mut next = Some(id);
    while let Some(id) = next.filter(|_| said.len() < MAX_DEPTH) {
        let found = match history::find(hub, id).await {
            Err(_) if !said.is_empty() => break,
            found => found?,
        };
        next = reply_to(&found.0);
        said.insert(id, found);
    }
    Ok(said)
}

/// Adds what replies to them, and to these. A reply comes after what it replies to.
fn with_replies(log: &Log, mut said: Said, limit: usize) -> Result<Said, JournalError> {
    let first = said.first_key_value().map_or(0, |(id, _)| *id);
    let mut cursor = first.max(log.earliest().saturating_sub(1));
    let mut scanned = 0;
    while scanned < MAX_SCAN {
        let events = log.read(cursor, CHUNK_BYTES)?;
        let Some(last) = events.last() else { break };
        cursor = last.seq();
        scanned += events.len();
        for event in events.iter().filter(|it| it.kind() == kinds::NOTIFIED) {
            let Some(notified) = event.notified() else {
                continue;
            };
            let replies = reply_to(&notified.json).is_some_and(|id| said.contains_key(&id));
            if replies && !said.contains_key(&event.seq()) {
                if said.len() >= limit {
                    return Ok(said);
                }
                let routed = !notified.route.targets.is_empty();
                said.insert(event.seq(), (notified.json.clone(), routed));
            }
        }
    }
    Ok(said)
}

/// What a notification replies to. Most reply to nothing: these are not parsed.
fn reply_to(json: &[u8]) -> Option<Seq> {
    let text = std::str::from_utf8(json).ok()?;
    if !text.contains("\"reply_to\":") {
        return None;
    }
    serde_json::from_str::<Reply>(text).ok()?.reply_to
}
