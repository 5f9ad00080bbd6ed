//! Reads records of the log for the routes.

use std::time::Duration;

use hub_protocol::{Notification, Seq};

use crate::budget::{Allowance, Budget};
use crate::error::{ApiError, Code};

pub use hub_engine::stored::{event, item_json};
use hub_engine::{Hub, stored};

/// A notification that the log still holds.
pub async fn notification(hub: &Hub, id: Seq) -> Result<Notification, ApiError> {
    let stored = stored::notification(hub, id).await?;
    Ok(stored.ok_or(Code::UnknownNotification)?)
}

/// Runs a disk read on a blocking thread.
pub(super) async fn blocking<T, E>(
    read: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    E: Into<ApiError> + Send + 'static,
{
    let done = tokio::task::spawn_blocking(read).await;
    let done = done.map_err(|error| ApiError::failed(Code::Internal, &error))?;
    done.map_err(Into::into)
}

/// Searches of the log. Each has a limit of records, and asks only whether its client is still there.
static SCANS: Budget = Budget::new(2, 62, Duration::from_secs(600));

/// Runs a read of a long part of the log, which asks its allowance at each step.
pub(super) async fn scan<T, E>(
    read: impl FnOnce(&Allowance) -> Result<T, E> + Send + 'static,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    E: Into<ApiError> + Send + 'static,
{
    SCANS.run(read).await
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
