//! Extractors that parse query strings and path segments into valid types.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use hub_protocol::{Cursor, InboxName, Kind, Priority, ProjectName, Seq};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::query::{self, list};
use super::{ApiError, Code, strict};
use crate::filter::Filter;
use crate::journal::JournalError;
use crate::log::{Event, Log};

/// A query string. An unknown parameter is an error, so that a typing mistake is reported.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|rejection| bad_query(&rejection.body_text()))?;
        query::read(pairs)
            .map(Self)
            .map_err(|error| bad_query(&error.to_string()))
    }
}

/// Turns serde's message about a query into an error with the right code.
fn bad_query(text: &str) -> ApiError {
    let detail = text
        .strip_prefix("Failed to deserialize query string: ")
        .unwrap_or(text);
    let code = match detail {
        _ if detail.contains("duplicate field `since`") => Code::MalformedCursor,
        _ if detail.contains("unknown type") => Code::UnknownType,
        _ => Code::Invalid,
    };
    ApiError::new(code, strict::in_words(detail))
}

/// A percent-decoded path segment.
pub(super) struct Part<T>(pub(super) T);

impl<T, S> FromRequestParts<S> for Part<T>
where
    T: FromStr,
    T::Err: std::fmt::Display,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let axum::extract::Path(text) =
            axum::extract::Path::<String>::from_request_parts(parts, state)
                .await
                .map_err(|rejection| ApiError::new(Code::Malformed, rejection.body_text()))?;
        text.parse()
            .map(Self)
            .map_err(|error: T::Err| ApiError::invalid(strict::in_words(&error.to_string())))
    }
}

/// The fields of a [`Filter`] in a query string.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FilterParams {
    project: Option<ProjectName>,
    inbox: Option<InboxName>,
    #[serde(default, deserialize_with = "list")]
    types: Option<Vec<Kind>>,
    from: Option<InboxName>,
    session: Option<InboxName>,
    min_priority: Option<Priority>,
}

impl From<FilterParams> for Filter {
    fn from(params: FilterParams) -> Self {
        Self {
            project: params.project,
            inbox: params.inbox,
            kinds: params.types,
            from: params.from,
            session: params.session,
            min_priority: params.min_priority,
            after: 0,
        }
    }
}

/// The `project` parameter; `default` if it is missing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectParam {
    #[serde(default)]
    pub(super) project: ProjectName,
}

/// Parses a cursor into this log; 400 if it is malformed, 422 if it belongs to another log or is past the head.
pub(super) fn cursor(text: Option<&str>, log: &Log) -> Result<Option<Seq>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let cursor: Cursor = text
        .parse()
        .map_err(|error| ApiError::new(Code::MalformedCursor, error))?;
    let foreign = cursor.epoch.is_some_and(|epoch| epoch != log.epoch());
    if foreign || cursor.seq > log.head() {
        let detail = format!(
            "cursor {cursor} is not a place in this log ({}-{})",
            log.epoch(),
            log.head()
        );
        return Err(ApiError::invalid(detail));
    }
    Ok(Some(cursor.seq))
}

/// The event with number `seq`: from the ring if it is there, otherwise read from disk on a blocking thread.
pub(super) async fn stored(log: &Arc<Log>, seq: Seq) -> Result<Option<Arc<Event>>, ApiError> {
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
