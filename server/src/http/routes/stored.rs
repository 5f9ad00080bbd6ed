//! Reads records of the log for the routes, with a placeholder for a notification whose text the disk lost.

use std::sync::Arc;

use bytes::Bytes;
use hub_protocol::{Kind, Notification, Priority, ProjectName, Seq, Timestamp};

use crate::http::error::{ApiError, Code};
use crate::hub::Hub;
use crate::log::journal::JournalError;
use crate::log::{Event, Log};
use crate::waiters::Offered;

/// The event with number `seq`: from the ring if it is there, otherwise read from disk on a blocking thread.
pub(super) async fn event(log: &Arc<Log>, seq: Seq) -> Result<Option<Arc<Event>>, ApiError> {
    if let Some(events) = log.recent(seq.saturating_sub(1), 1) {
        return Ok(events.into_iter().next().filter(|event| event.seq() == seq));
    }
    let log = Arc::clone(log);
    blocking(move || log.get(seq)).await
}

/// Runs a disk read on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(read).await;
    Ok(done.map_err(|error| ApiError::failed(Code::Internal, &error))??)
}

/// The JSON of a delivered item, marked if it was delivered before.
pub(super) async fn item_json(
    hub: &Hub,
    project: &ProjectName,
    item: &Offered,
) -> Result<Bytes, ApiError> {
    let json = json(hub, project, item.id, item.location).await?;
    if !item.redelivered {
        return Ok(json);
    }
    Ok([&json[..json.len() - 1], b",\"redelivered\":true}"]
        .concat()
        .into())
}

/// The JSON of the notification `id`, stored at `location`. If the disk lost it, a placeholder with the same id says
/// so: a reader that got nothing could never acknowledge it, and would be offered it for ever.
async fn json(hub: &Hub, project: &ProjectName, id: Seq, location: Seq) -> Result<Bytes, ApiError> {
    let stored = event(hub.log(), location).await?;
    if let Some(json) = stored.and_then(|event| event.json()) {
        return Ok(json);
    }
    let lost = hub.log().journal().lost_at(location);
    lost.ok_or(Code::Internal)?;
    let now = Timestamp::now();
    let said = Notification {
        id,
        ts: now,
        from: "hub".parse().map_err(|_| Code::Internal)?,
        from_name: None,
        kind: Kind::Error,
        msg: format!("notification {id} cannot be read any more: the disk lost its text"),
        to: None,
        project: project.clone(),
        priority: Priority::Normal,
        title: None,
        data: None,
        session: None,
        parent: None,
        key: None,
        reply_to: None,
        expires_at: now,
        options: None,
        hops: 0,
        received: None,
    };
    let json = serde_json::to_vec(&said);
    Ok(json
        .map_err(|error| ApiError::failed(Code::Internal, &error))?
        .into())
}

/// Puts stored notifications, as JSON, into `frame`, which serde wrote with an empty list of `notifications` as its
/// first member. The notifications are not parsed, because their bytes never change.
pub(super) fn with_notifications(frame: &[u8], stored: &[impl AsRef<[u8]>]) -> Vec<u8> {
    const BEGIN: &[u8] = b"{\"notifications\":[";
    debug_assert!(frame.starts_with(BEGIN));
    let size: usize = stored.iter().map(|json| json.as_ref().len() + 1).sum();
    let mut json = Vec::with_capacity(frame.len() + size);
    json.extend_from_slice(BEGIN);
    for (n, stored) in stored.iter().enumerate() {
        json.extend_from_slice(if n > 0 { b"," } else { b"" });
        json.extend_from_slice(stored.as_ref());
    }
    json.extend_from_slice(&frame[BEGIN.len()..]);
    json
}
