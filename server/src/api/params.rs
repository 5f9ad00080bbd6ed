//! Query strings and path parts, parsed into types that cannot be wrong.

use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use hub_protocol::{Cursor, InboxName, Kind, Priority, ProjectName, Seq};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{ApiError, Code};
use crate::filter::Filter;
use crate::journal::JournalError;
use crate::log::{Event, Log};

/// A query string; what it does not know is an error, so that a typing mistake is told.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Query::<T>::try_from_uri(&parts.uri)
            .map(|Query(params)| Self(params))
            .map_err(|rejection| bad_query(&rejection.body_text()))
    }
}

/// What serde says of a query, under the code that it belongs to.
fn bad_query(text: &str) -> ApiError {
    let detail = text
        .strip_prefix("Failed to deserialize query string: ")
        .unwrap_or(text);
    let code = match detail {
        _ if detail.contains("duplicate field `since`") => Code::MalformedCursor,
        _ if detail.contains("unknown type") => Code::UnknownType,
        _ => Code::Invalid,
    };
    ApiError::new(code, detail)
}

/// A path part, percent-decoded.
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
            .map_err(|error: T::Err| ApiError::invalid(error))
    }
}

/// The parts of a [`Filter`] in a query string.
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

/// The project of a request that names none is `default`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectParam {
    #[serde(default)]
    pub(super) project: ProjectName,
}

/// Reads `a,b,c`.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr,
    T::Err: std::fmt::Display,
{
    let text = String::deserialize(deserializer)?;
    text.split(',')
        .map(|part| part.trim().parse().map_err(D::Error::custom))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Reads a place in this log; 400 where it is malformed, 422 where it belongs to another journal or is ahead.
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

/// An event of the log: from memory at once, from disk on a thread that may block.
pub(super) async fn stored(log: &Arc<Log>, seq: Seq) -> Result<Option<Arc<Event>>, ApiError> {
    if let Some(events) = log.recent(seq.saturating_sub(1), 1) {
        return Ok(events.into_iter().next().filter(|event| event.seq() == seq));
    }
    let log = Arc::clone(log);
    blocking(move || log.get(seq)).await
}

/// Runs what reads the disk on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(read).await;
    Ok(done.map_err(|error| ApiError::failed(Code::Internal, &error))??)
}
