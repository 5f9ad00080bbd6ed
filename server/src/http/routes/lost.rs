//! Placeholders for notifications whose text the disk lost.

use bytes::Bytes;
use hub_protocol::{Kind, Notification, Priority, ProjectName, Seq, Timestamp};

use super::{ApiError, Code, params};
use crate::hub::Hub;

/// The JSON of the notification `id`, stored at `location`. If the disk lost it, a placeholder with the same id says
/// so: a reader that got nothing could never acknowledge it, and would be offered it for ever.
pub(super) async fn json(
    hub: &Hub,
    project: &ProjectName,
    id: Seq,
    location: Seq,
) -> Result<Bytes, ApiError> {
    let stored = params::stored(hub.log(), location).await?;
    if let Some(json) = stored.and_then(|event| event.json()) {
        return Ok(json);
    }
    let hole = hub.log().journal().lost_at(location);
    hole.ok_or(Code::Internal)?;
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
