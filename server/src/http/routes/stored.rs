//! Reads records of the log for the routes.

use crate::http::error::{ApiError, Code};
use crate::log::journal::JournalError;

pub(super) use crate::hub::stored::{event, item_json};

/// Runs a disk read on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(read).await;
    Ok(done.map_err(|error| ApiError::failed(Code::Internal, &error))??)
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
