//! `GET /events`: the log as server-sent events.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use hub_engine::Hub;
use hub_protocol::PhoneAccess;
use serde::Deserialize;

use crate::error::{ApiError, Code};
use crate::login::DashboardSession;
use crate::request::caller::Caller;
use crate::request::params::{FilterParams, Params};
use crate::request::query;
use crate::sse::{self, EventKind, KnownLists, Selection, Start};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventParams {
    since: Option<String>,
    #[serde(default, deserialize_with = "query::list")]
    kinds: Option<Vec<EventKind>>,
    #[serde(default)]
    focused: bool,
    /// The lists that the reader has, by their tags.
    sessions_tag: Option<String>,
    needs_tag: Option<String>,
    #[serde(flatten)]
    filter: FilterParams,
}

/// Streams events live, or from a cursor on.
pub(super) async fn events(
    State(hub): State<Hub>,
    Params(params): Params<EventParams>,
    headers: HeaderMap,
    session: Option<Extension<DashboardSession>>,
    caller: Caller,
) -> Result<Response, ApiError> {
    // Agents wait for an answer while a dashboard is open, and none comes from a phone that only reads.
    let only_reads = session.is_some_and(|it| it.access() == Some(PhoneAccess::Reads));
    let permit = match (caller.is_dashboard(), params.focused) {
        (true, true) => hub.focus_permit()?,
        (true, false) if !only_reads => hub.dashboard_permit()?,
        (_, false) => hub.stream_permit()?,
        (false, true) => return Err(ApiError::invalid("only a dashboard's session has a focus")),
    };
    let since = params.since.as_deref().map(str::parse).transpose();
    let since = since.map_err(|error| ApiError::new(Code::MalformedCursor, error))?;
    let start = Start::find(hub.log(), headers.get("last-event-id"), since);
    let selection = Selection::new(params.kinds, params.filter.into());
    let known = KnownLists {
        sessions: params.sessions_tag,
        needs: params.needs_tag,
    };
    Ok(sse::response(hub, permit, selection, &start, known))
}
