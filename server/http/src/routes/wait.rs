//! `GET /wait`: the long poll that delivers notifications to a waiter.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hub_core::command::Refusal;
use hub_core::filter::Filter;
use hub_core::fold::Session;
use hub_core::notification::is_longer;
use hub_core::waiters::lease_token::Claim;
use hub_core::waiters::{Barrier, Batch, HeldBack, MAX_BYTES, MAX_TEXT_BYTES, Outcome, WaitSpec};
use hub_engine::{Hub, wake_text};
use hub_log::Log;
use hub_protocol::{InboxName, Kind, Priority, ProjectName, Quoted, Seq, WaitReply, Way};
use serde::Deserialize;

use super::{json_response, stored};
use crate::error::{ApiError, Code};
use crate::request::caller::Caller;
use crate::request::params::{self, Params};
use crate::request::query;

/// Longest timeout, in seconds.
const MAX_TIMEOUT: u64 = 24 * 3600;
const MAX_SETTLE_MS: u64 = 5000;
/// Limit of inboxes for one waiter, and of sessions for one barrier.
pub const MAX_NAMES: usize = 64;
/// Longest name of a waiter, in characters.
pub(super) const MAX_AS: usize = 128;

/// The query of a wait.
#[derive(Debug, Deserialize)]
pub(super) struct WaitParams {
    #[serde(default, deserialize_with = "query::list")]
    inbox: Option<Vec<InboxName>>,
    #[serde(default)]
    project: ProjectName,
    #[serde(rename = "as")]
    name: Option<String>,
    session: Option<InboxName>,
    way: Option<Way>,
    timeout: Option<u64>,
    #[serde(default)]
    settle: u64,
    #[serde(default, deserialize_with = "query::list")]
    types: Option<Vec<Kind>>,
    from: Option<InboxName>,
    min_priority: Option<Priority>,
    #[serde(default, deserialize_with = "query::list")]
    all: Option<Vec<InboxName>>,
    #[serde(default, deserialize_with = "query::list")]
    any: Option<Vec<InboxName>>,
    count: Option<usize>,
    since: Option<String>,
    ack: Option<String>,
    #[serde(default)]
    takeover: bool,
}

/// Answers with a batch as soon as the waiter's condition is met, or with 204 at the timeout.
pub(super) async fn wait(
    State(hub): State<Hub>,
    Params(mut params): Params<WaitParams>,
    caller: Caller,
) -> Result<Response, ApiError> {
    for inbox in params.inbox.iter().flatten() {
        caller.may_read_as(&hub, inbox).await?;
    }
    let _permit = hub.stream_permit()?;
    let lease = params.ack.take().filter(|lease| !lease.is_empty());
    let spec = spec(params, hub.log())?;
    let way = spec.way;
    if let Some(way @ (Way::Rewake | Way::Module)) = way {
        demand_session(&hub, &spec, way)?;
    }
    if let Some(lease) = lease {
        acknowledge(&hub, &lease).await?;
    }
    let session = spec.session.clone().filter(|_| way == Some(Way::Module));
    let module = session.map(|session| (spec.project.clone(), session));
    let outcome = hub.wait(spec).await?;
    if let Some((project, session)) = module {
        hub.read(|state, waiters| {
            let place = state.sessions.resolve_key(project, session);
            waiters
                .write()
                .activity()
                .note_module(place, Instant::now());
        })?;
    }
    match outcome {
        Outcome::Batch(batch) => reply(&hub, batch, way == Some(Way::Module)).await,
        Outcome::Empty => Ok(StatusCode::NO_CONTENT.into_response()),
        Outcome::HeldBack(held) => Ok(held_back(held)),
        Outcome::Reset => Err(Code::ProjectReset.into()),
        Outcome::TakenOver => Err(Code::TakenOver.into()),
        Outcome::Held { inbox, holder } => {
            let named = holder.name.as_deref().map(|it| Quoted(it).to_string());
            let who = named.as_deref().unwrap_or("a waiter without a name");
            let detail = format!("{who} waits at '{inbox}' since {}", holder.since);
            Err(ApiError::new(Code::InboxHeld, detail)
                .with(|it| it.inbox = Some(inbox))
                .with(|it| it.holder = Some(holder)))
        }
    }
}

/// Refuses HEAD: a HEAD request would lease notifications and drop them with the body.
#[allow(clippy::unused_async)] // a handler
pub(super) async fn head() -> impl IntoResponse {
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET")])
}

/// The answer to a timeout while a wake limit holds notifications back: 204, with their count in headers.
fn held_back(held: HeldBack) -> Response {
    let fields = [
        ("hub-held", held.count.to_string()),
        ("hub-held-until", held.until.to_string()),
    ];
    (StatusCode::NO_CONTENT, fields).into_response()
}

/// Acknowledges all notifications of a lease. Idempotent.
pub(super) async fn acknowledge(hub: &Hub, lease: &str) -> Result<Vec<Seq>, ApiError> {
    let claim = verified(hub, lease)?;
    settle(hub, claim).await
}

/// Acknowledges some notifications of a lease, and releases the others.
pub(super) async fn acknowledge_some(
    hub: &Hub,
    lease: &str,
    ids: &[Seq],
) -> Result<Vec<Seq>, ApiError> {
    let (claim, rest) = verified(hub, lease)?.partition(|id| ids.contains(&id));
    let settled = settle(hub, claim).await?;
    hub.give_back(rest).await?;
    Ok(settled)
}

fn verified(hub: &Hub, lease: &str) -> Result<Claim, ApiError> {
    let claim = hub.leases().verify(lease, hub.log().epoch());
    claim.map_err(|error| ApiError::new(Code::ForgedLease, error))
}

/// Acknowledges the notifications of a claim.
pub async fn settle(hub: &Hub, claim: Claim) -> Result<Vec<Seq>, ApiError> {
    Ok(hub.submit(claim.into()).await?.settled)
}

/// Refuses a waiter of an agent's hooks or module that a better one makes needless, or whose session is not registered yet:
/// it may arrive before the session's first hook event, and then it has to retry.
fn demand_session(hub: &Hub, spec: &WaitSpec, way: Way) -> Result<(), ApiError> {
    let Some(name) = spec.session.clone() else {
        let detail = format_args!("way={} is for a session", way.as_str());
        return Err(ApiError::invalid(detail));
    };
    let is_needless = hub.read(|state, waiters| {
        let (project, key) = state.sessions.find(&spec.project, &name)?;
        let session = state.sessions.get(&project, &key);
        let has_module = || {
            let place = state
                .sessions
                .resolve_key(spec.project.clone(), name.clone());
            waiters.read().has_module(&place, Instant::now())
        };
        let is_left = |it: &Session| it.is_left_to_client(Some(way), spec.name.as_deref());
        Ok::<_, Refusal>(session.is_some_and(is_left) || way == Way::Rewake && has_module())
    })??;
    if is_needless {
        return Err(Code::TakenOver.into());
    }
    Ok(())
}

fn spec(params: WaitParams, log: &Log) -> Result<WaitSpec, ApiError> {
    let inboxes = params.inbox.unwrap_or_default();
    let timeout = params.timeout.unwrap_or(params::WAIT_TIMEOUT);
    let all = params.all.unwrap_or_default();
    let any = params.any.unwrap_or_default();
    let lists = [&inboxes, &all, &any];
    check(
        lists.iter().all(|names| names.len() <= MAX_NAMES),
        format_args!("at most {MAX_NAMES} names"),
    )?;
    check(
        timeout <= MAX_TIMEOUT,
        format_args!("timeout is at most {MAX_TIMEOUT} seconds"),
    )?;
    check(
        params.settle <= MAX_SETTLE_MS,
        format_args!("settle is at most {MAX_SETTLE_MS} milliseconds"),
    )?;
    let sound_name = params.name.as_ref().is_none_or(|name| {
        !name.is_empty()
            && !is_longer(name, MAX_AS)
            && !name.chars().any(hub_protocol::is_unprintable)
    });
    check(
        sound_name,
        format_args!("as has 1 to {MAX_AS} printable characters"),
    )?;
    let reserved = params.session.as_ref().filter(|it| it.is_reserved());
    check(
        reserved.is_none(),
        format_args!("session is the name of a session, and inbox one to read"),
    )?;
    let since = params::cursor(params.since.as_deref(), log)?;
    let named = !all.is_empty() || !any.is_empty();
    let barrier = (named || params.count.is_some()).then(|| Barrier {
        all,
        any,
        count: params.count.unwrap_or(0),
        since: since.unwrap_or(0),
    });
    Ok(WaitSpec {
        filter: Filter {
            kinds: params.types,
            from: params.from,
            min_priority: params.min_priority,
            after: since.unwrap_or(0),
            ..Filter::default()
        },
        project: params.project,
        inboxes,
        own: false,
        name: params.name,
        session: params.session,
        way: params.way,
        barrier,
        settle: Duration::from_millis(params.settle),
        deadline: Instant::now() + Duration::from_secs(timeout),
        // A module's batch is delivered in the answer to a hook.
        room: match params.way {
            Some(Way::Module) => MAX_TEXT_BYTES,
            _ => MAX_BYTES,
        },
        drain: timeout == 0,
        takeover: params.takeover,
    })
}

fn check(sound: bool, rule: std::fmt::Arguments<'_>) -> Result<(), ApiError> {
    if sound {
        Ok(())
    } else {
        Err(ApiError::invalid(rule))
    }
}

/// The answer, assembled from the notifications' stored bytes.
async fn reply(hub: &Hub, batch: Batch, prompts: bool) -> Result<Response, ApiError> {
    let lease = hub.leases().sign(&batch.claim(hub.log().epoch()));
    let mut stored = Vec::with_capacity(batch.items.len());
    for item in &batch.items {
        stored.push(stored::item_json(hub, &batch.project, item).await?);
    }
    let prompt = prompts.then(|| wake_text::prompt(&stored).into());
    let frame = WaitReply {
        notifications: Vec::new(),
        lease,
        remaining: batch.remaining,
        why_woken: batch.why,
        barrier: batch.barrier,
        prompt,
    };
    let frame =
        serde_json::to_vec(&frame).map_err(|error| ApiError::failed(Code::Internal, &error))?;
    let json = stored::with_notifications(&frame, &stored);
    Ok(json_response(json))
}
