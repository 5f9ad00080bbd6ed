//! Reads notifications of the log, with a placeholder for one whose text the disk lost.

use std::sync::Arc;

use bytes::Bytes;
use hub_core::notification::Draft;
use hub_core::rejected::Rejected;
use hub_core::waiters::Offered;
use hub_log::journal::JournalError;
use hub_log::{Event, Log};
use hub_protocol::{InboxName, Kind, Notification, ProjectName, Seq, Timestamp};

use super::Hub;

/// The event with number `seq`: from the ring if it is there, otherwise read from disk on a blocking thread.
pub async fn event(log: &Arc<Log>, seq: Seq) -> Result<Option<Arc<Event>>, JournalError> {
    if let Some(events) = log.recent(seq.saturating_sub(1), 1) {
        return Ok(events.into_iter().next().filter(|event| event.seq() == seq));
    }
    let log = Arc::clone(log);
    let read = tokio::task::spawn_blocking(move || log.get(seq)).await;
    read.map_err(std::io::Error::other)?
}

/// A notification that the log still holds, also if retention has carried it to another record.
pub async fn notification(hub: &Hub, id: Seq) -> Result<Option<Notification>, Rejected> {
    let location = hub.read(|state, _| state.location(id).unwrap_or(id))?;
    let stored = event(hub.log(), location).await;
    let stored = stored.map_err(|_| Rejected::Storage)?;
    let stored = stored.filter(|event| !hub.log().hides(event));
    let json = stored.and_then(|event| event.json());
    Ok(json.and_then(|json| serde_json::from_slice(&json).ok()))
}

/// The notification that a record has; `None` also if the disk lost it. May block on the disk.
pub fn at(log: &Log, location: Seq) -> Option<Notification> {
    let event = log.get(location).ok()??;
    serde_json::from_slice(&event.json()?).ok()
}

/// The JSON of a delivered item, marked if it was delivered before.
pub async fn item_json(
    hub: &Hub,
    project: &ProjectName,
    item: &Offered,
) -> Result<Bytes, JournalError> {
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
async fn json(
    hub: &Hub,
    project: &ProjectName,
    id: Seq,
    location: Seq,
) -> Result<Bytes, JournalError> {
    let stored = event(hub.log(), location).await?;
    if let Some(json) = stored.and_then(|event| event.json()) {
        return Ok(json);
    }
    let lost = hub.log().journal().lost_at(location);
    lost.ok_or_else(|| std::io::Error::other(format!("record {location} is no notification")))?;
    let now = Timestamp::now();
    let hub = InboxName::HUB.parse().expect("a constant name");
    let msg = format!("notification {id} cannot be read any more: the disk lost its text");
    let draft = Draft::new((project, &hub), Kind::Error, msg, now, 0);
    let said = Notification { id, ..draft.body };
    let json = serde_json::to_vec(&said).map_err(std::io::Error::other)?;
    Ok(json.into())
}
