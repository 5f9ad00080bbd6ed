//! Extractors that parse query strings and path segments into valid types.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use hub_core::filter::Filter;
use hub_log::Log;
use hub_protocol::{Cursor, InboxName, Kind, Priority, ProjectName, Seq};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::query::{self, list};
use super::strict;
use crate::error::{ApiError, Code};

/// The timeout of a wait that names none, in seconds: shorter than the ten minutes after which agents' tools end a command.
pub const WAIT_TIMEOUT: u64 = 570;

/// A query string. An unknown parameter is an error, so that a typing mistake is reported.
pub struct Params<T>(pub T);

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
    ApiError::new(code, strict::client_message(detail))
}

/// A percent-decoded path segment.
pub struct PathParam<T>(pub T);

impl<T, S> FromRequestParts<S> for PathParam<T>
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
            .map_err(|error: T::Err| ApiError::invalid(strict::client_message(&error.to_string())))
    }
}

/// The fields of a [`Filter`] in a query string.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FilterParams {
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

/// The `project` parameter of a list; all projects if it is missing.
#[derive(Debug, Deserialize)]
pub(crate) struct ProjectFilter {
    pub(crate) project: Option<ProjectName>,
}

/// The `project` parameter; `default` if it is missing.
#[derive(Debug, Deserialize)]
pub(crate) struct ProjectParam {
    #[serde(default)]
    pub(crate) project: ProjectName,
}

/// Parses a cursor into this log; 400 if it is malformed, 422 if it belongs to another log or is past the head.
pub(crate) fn cursor(text: Option<&str>, log: &Log) -> Result<Option<Seq>, ApiError> {
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
