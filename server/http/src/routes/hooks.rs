//! `POST /hooks/{agent}`: reads an agent's hook JSON and answers with its hook JSON.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use hub_agents::{HookReply, render};
use hub_core::answer::AnswerKind;
use hub_core::command::{AgentEvent, HeldHook, IdempotencyKey};
use hub_core::fold::{Inbox, Question, SessionKey};
use hub_core::record::TurnCause;
use hub_core::waiters::{Batch, MAX_TEXT_BYTES, Offered, WaitSpec};
use hub_engine::Hub;
use hub_engine::hooks::{HookParams, HookRequest};
use hub_engine::instructions::{self, InstructedSession, WakeMethod};
use hub_protocol::process::command_line;
use hub_protocol::{
    Framed, InboxName, OwnWords, QuestionState, Seq, Timestamp, Verdict, Way, WhyWoken, verdict,
};
use serde_json::{Map, Value};

use super::{notify, questions, refused, stored, wait, wake_note};
use crate::error::{ApiError, Code};
use crate::peer::Peer;
use crate::request::caller::Caller;
use crate::request::evidence::Witness;
use crate::request::local::{LocalClaim, Origin};
use crate::request::params::{Params, PathParam};
use crate::request::payload::Payload;

mod handover;
#[cfg(test)]
mod tests;

use handover::{Handover, HandoverBody};

const LEASE: HeaderName = HeaderName::from_static("hub-lease");
const INBOX: HeaderName = HeaderName::from_static("hub-inbox");

/// Stores an event, and answers with the text for the agent's session.
pub(super) async fn hook(
    State(hub): State<Hub>,
    PathParam(agent): PathParam<String>,
    Params(params): Params<HookParams>,
    Extension(peer): Extension<Peer>,
    (caller, witness, origin): (Caller, Witness, Origin),
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, ApiError> {
    let once = notify::once_key(&headers)?.map(|key| IdempotencyKey::new(&key, agent.as_bytes()));
    let payload: Map<String, Value> = payload.json()?;
    if params.is_spooled_in_time() && peer.is_gone() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let mut request = HookRequest::new(&hub, &agent, params, &payload, once)?;
    let claim = LocalClaim {
        pid: request.params.pid,
        pane: request.params.pane.take(),
        pane_delivery: request.params.pane_delivery,
    };
    if let Some(given) = request.params.session.clone()
        && claim.is_below_agent_of(&hub, &origin, (request.project(), given))?
    {
        request.params.session = None;
    }
    let place = hub.read(|state, _| request.place(state))?;
    demand_own(&request, &place, &origin, (caller, &witness)).await?;
    request.params.confirmed = claim.confirm(&hub, &origin, &place)?;
    if request.held.is_some() {
        drop(request.turn().await);
        return respond(&request).await;
    }
    // In a task of its own: what an agent reported counts in its order, also if it no longer waits for the answer.
    let handled = tokio::spawn(async move {
        let _turn = request.turn().await;
        respond(&request).await
    });
    let handled = handled.await;
    handled.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Refuses what another agent reports of a session that has the person's dialog open: it would end that.
async fn demand_own(
    request: &HookRequest,
    place: &SessionKey,
    origin: &Origin,
    (caller, witness): (Caller, &Witness),
) -> Result<(), ApiError> {
    use AgentEvent::{Resumed, Seen, Started};
    if matches!(request.event.happened, Started | Resumed | Seen) {
        return Ok(());
    }
    let is_others = |it: &Question, runs| it.is_kept_for_person() && runs == Some(false);
    let kept = request
        .hub
        .read(|state, _| refused::kept_question(state, place, origin, is_others))?;
    let Some(kept) = kept else {
        return Ok(());
    };
    let allowed = caller.refuse_agents(&request.hub).await;
    refused::withdraw(&request.hub, witness, kept, allowed).await
}

async fn respond(request: &HookRequest) -> Result<Response, ApiError> {
    let event = &request.event;
    request.note_mode()?;
    request.note_form()?;
    request.note_tool()?;
    if let Some(cause) = event.next_turn {
        request.note_cause(cause)?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let starts = event.happened.starts() && event.subagent.is_none();
    let stops = matches!(event.happened, AgentEvent::Stopped { .. });
    let accepts_context = event.accepts_context && event.subagent.is_none();
    let mut batch = None;
    if accepts_context && !starts && (!stops || has_waking_item(request)?) {
        batch = request.hub.take(spec(request)).await?;
        batch = with_announced(request, batch)?;
    }
    let mut reply = HookReply {
        note: wake_note(request).await?,
        ..HookReply::default()
    };
    let mut handover = None;
    if let Some(held) = request.held {
        let held_reply = held_reply(request, held, batch.is_some()).await?;
        (reply.decision, reply.answers) = (held_reply.decision, held_reply.answers);
        handover = held_reply.handover;
    } else {
        request.submit(batch.is_some()).await?;
    }
    request.note_edits();
    if starts && request.reporter.facts().has(Way::FileChanged) && request.params.watches {
        reply.watch = watched_file(request).await?;
    }
    let mut texts: Vec<OwnWords> = Vec::new();
    let session = if starts || accepts_context {
        Some(session_status(request)?)
    } else {
        None
    };
    if let Some(session) = session.as_ref().filter(|_| starts) {
        texts.push(instructions::text(&InstructedSession {
            name: &session.name,
            primary: session.primary,
            parent: session.parent.as_deref(),
            wake_method: wake_method(request),
        }));
    }
    if let Some(batch) = &mut batch {
        texts.push(text(&request.hub, batch).await?);
    }
    if accepts_context && !stops && session.is_some_and(|session| session.warn) {
        texts.extend(wake_method(request).warning().map(OwnWords::of));
    }
    reply.context = texts
        .into_iter()
        .reduce(|all, text| all.and("\n").and(text));
    let reply = render(request.reporter, event, reply);
    let headers = acknowledge(request, batch).await?;
    Ok(match reply {
        Some(reply) if handover.is_some() => {
            let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            let body = HandoverBody::new(reply.to_string().into(), handover);
            (headers, json, Body::new(body)).into_response()
        }
        Some(reply) => (headers, Json(reply)).into_response(),
        None => (headers, StatusCode::NO_CONTENT).into_response(),
    })
}

/// The note that shows the person which notifications woke this turn, if a wake began it.
async fn wake_note(request: &HookRequest) -> Result<Option<OwnWords>, ApiError> {
    match request.event.happened {
        AgentEvent::Prompt {
            by: TurnCause::Wake | TurnCause::Task,
            ..
        } => wake_note::text(&request.hub, request.project(), request.session()).await,
        _ => Ok(None),
    }
}

/// Creates the file that the session shall watch; `None` if that failed, because other ways wake the session too.
async fn watched_file(request: &HookRequest) -> Result<Option<PathBuf>, ApiError> {
    let number = request.hub.read(|state, _| {
        let (project, key) = request.place(state);
        Some(state.sessions.get(&project, &key)?.registered.as_ref()?.seq)
    })?;
    let Some(number) = number else {
        return Ok(None);
    };
    let files = request.hub.wake_files().clone();
    let created = tokio::task::spawn_blocking(move || files.create(number)).await;
    let created = created.map_err(|error| ApiError::failed(Code::Internal, &error))?;
    if let Err(error) = &created {
        tracing::warn!(%error, "a session has no file to watch");
    }
    Ok(created.ok())
}

fn wake_method(request: &HookRequest) -> WakeMethod {
    let (agent, params) = (request.reporter.facts(), &request.params);
    match () {
        () if params.rewake => WakeMethod::RewakeHook,
        () if agent.has(Way::FileChanged) && params.watches && is_hosted(request) => {
            WakeMethod::Hosted
        }
        () if params.is_headless() => WakeMethod::Never,
        () if params.app_server => WakeMethod::AppServer,
        () if agent.waits_in_background => WakeMethod::BackgroundCommand,
        () => WakeMethod::PersonOnly,
    }
}

/// Whether a program runs the session of Claude Code, and sends it one prompt after another.
fn is_hosted(request: &HookRequest) -> bool {
    let process = request.params.confirmed.process.as_ref();
    let line = process.map(|it| command_line(it.pid)).unwrap_or_default();
    let words = line.iter().flat_map(|it| it.split('='));
    let words: Vec<&str> = words.collect();
    words
        .windows(2)
        .any(|it| *it == ["--input-format", "stream-json"])
}

/// The request for a batch of everything that is pending for the session, up to [`MAX_TEXT_BYTES`].
fn spec(request: &HookRequest) -> WaitSpec {
    let name = format!("hook:{}", request.event.id);
    let session = Some(request.session());
    WaitSpec {
        way: Some(Way::Hook),
        ..WaitSpec::drain(request.project(), session, name, MAX_TEXT_BYTES)
    }
}

/// Adds the notifications that the session's module announced, if this event reports the module's prompt.
fn with_announced(request: &HookRequest, batch: Option<Batch>) -> Result<Option<Batch>, ApiError> {
    let by = TurnCause::Wake;
    if !matches!(&request.event.happened, AgentEvent::Prompt { by: found, .. } if *found == by) {
        return Ok(batch);
    }
    let announced = request.hub.read(|state, _| {
        let (project, key) = request.place(state);
        let lease = state.announced(&project, &key);
        let ids: BTreeSet<Seq> = lease.iter().flat_map(|(_, ids)| ids).copied().collect();
        let offered = |id: Seq| Offered {
            id,
            location: state.location(id).unwrap_or(id),
            redelivered: false,
        };
        Batch {
            items: ids.into_iter().map(offered).collect(),
            project,
            by: Some(format!("hook:{}", request.event.id)),
            shown: Some((key, Way::Hook)),
            lease,
            remaining: 0,
            barrier: None,
            why: WhyWoken::Pending,
        }
    })?;
    Ok(match batch {
        _ if announced.items.is_empty() => batch,
        None => Some(announced),
        // The announced ones come first, because the others stay pending if they do not fit.
        Some(pending) => Some(Batch {
            items: [announced.items, pending.items].concat(),
            lease: [announced.lease, pending.lease].concat(),
            ..pending
        }),
    })
}

/// Whether a waking notification is pending. A delivery at a stop begins another turn, as a wake does, so notifications
/// that only ride along are not delivered there by themselves.
fn has_waking_item(request: &HookRequest) -> Result<bool, ApiError> {
    let wakes = request.hub.read(|state, waiters| {
        let (project, key) = request.place(state);
        let inboxes = state.sessions.inboxes_of(&project, &key);
        inboxes.iter().any(|name| {
            let inbox = state.inboxes.get(&project, name).into_iter();
            let mut items = inbox.flat_map(Inbox::offerable);
            items.any(|item| item.wakes && !waiters.read().is_leased(&project, name, item.seq))
        })
    });
    Ok(wakes?)
}

/// Facts about the session at the time of its event.
struct SessionStatus {
    name: String,
    primary: bool,
    parent: Option<String>,
    /// Whether to warn it that nothing wakes it while its workers are busy.
    warn: bool,
}

fn session_status(request: &HookRequest) -> Result<SessionStatus, ApiError> {
    let new_turn = matches!(request.event.happened, AgentEvent::Prompt { .. });
    // An extension polls between the turns, so it holds the inbox then.
    let polls = request.params.rewake && request.reporter.facts().has_extension;
    let can_sleep = !polls && wake_method(request) != WakeMethod::Never;
    let status = request.hub.read(|state, waiters| {
        let sessions = &state.sessions;
        let (project, key) = request.place(state);
        let session = sessions.get(&project, &key);
        let shown_name = |name: &InboxName| {
            let key = sessions.resolve(&project, name);
            sessions.shown_name(&project, key).to_owned()
        };
        let primary = sessions.primary(&project) == Some(&key);
        let waits = waiters.read().holder(&project, &key).is_some();
        let asleep = can_sleep && primary && !waits && sessions.busy_workers(&project, &key) > 0;
        let place = (project.clone(), key.clone());
        SessionStatus {
            name: shown_name(&key),
            primary,
            parent: session.and_then(|it| it.parent()).map(shown_name),
            warn: asleep
                && waiters
                    .write()
                    .activity()
                    .warn(place, new_turn, Instant::now()),
        }
    });
    Ok(status?)
}

/// The batch as text for the model. Notifications that do not fit are removed from the lease and stay pending.
async fn text(hub: &Hub, batch: &mut Batch) -> Result<OwnWords, ApiError> {
    let mut lines = Vec::new();
    for item in &batch.items {
        let json = stored::item_json(hub, &batch.project, item).await?;
        lines.push(String::from_utf8_lossy(&json).into_owned());
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let framed = Framed::new(&lines, batch.remaining);
    let left: Vec<Seq> = batch.items[framed.shown..].iter().map(|it| it.id).collect();
    for (_, ids) in &mut batch.lease {
        ids.retain(|id| !left.contains(id));
    }
    Ok(OwnWords::of(framed))
}

/// Returns the lease in headers if the caller acknowledges by itself; otherwise records the batch as shown.
async fn acknowledge(request: &HookRequest, batch: Option<Batch>) -> Result<HeaderMap, ApiError> {
    let mut headers = HeaderMap::new();
    let Some(batch) = batch else {
        return Ok(headers);
    };
    let claim = batch.claim(request.hub.log().epoch());
    if !request.params.lease {
        wait::settle(&request.hub, claim).await?;
        return Ok(headers);
    }
    let inbox = claim.items.first().map(|(inbox, _)| inbox.to_string());
    let lease = HeaderValue::from_str(&request.hub.leases().sign(&claim));
    let inbox = HeaderValue::from_str(&inbox.unwrap_or_default());
    headers.insert(LEASE, lease.map_err(|_| Code::Internal)?);
    headers.insert(INBOX, inbox.map_err(|_| Code::Internal)?);
    Ok(headers)
}

/// The answer to a held request, with the guard that reports its delivery.
#[derive(Default)]
struct HeldReply {
    decision: Option<Verdict>,
    answers: Vec<String>,
    handover: Option<Handover>,
}

/// Waits for the answer to a held request. A question that the hub itself settled gives none, and then the agent's own
/// dialog decides.
async fn held_reply(
    request: &HookRequest,
    held: HeldHook,
    delivers: bool,
) -> Result<HeldReply, ApiError> {
    let hook = request.command(delivers).await?;
    let done = request.hub.submit(hook).await?;
    let (Some(&id), Some(guard)) = (done.ids.first(), done.held) else {
        return Ok(HeldReply::default());
    };
    let left = guard.time().until.as_millis() - Timestamp::now().as_millis();
    let patience = Duration::from_millis(left.try_into().unwrap_or(0));
    // After a denial no other hook reports that the turn goes on, and the turn's stop would not count as news.
    let worked = request.command_of(AgentEvent::Worked, None);
    let mut handover = Handover::new(&request.hub, id, guard, worked);
    let question = tokio::select! {
        biased;
        question = questions::settled(&request.hub, id, patience) => question?,
        () = handover.forgotten() => return Err(Code::NoActiveHub.into()),
        () = request.hub.without_dashboard(), if held.delays => return Ok(HeldReply::default()),
    };
    let is_answered = question.state == QuestionState::Answered;
    let Some(answer) = question.answer.filter(|_| is_answered) else {
        return Ok(HeldReply::default());
    };
    let handover = Some(handover);
    Ok(match held.takes {
        AnswerKind::Permission | AnswerKind::Plan => HeldReply {
            decision: verdict(&answer),
            handover,
            ..HeldReply::default()
        },
        AnswerKind::Text | AnswerKind::Texts | AnswerKind::Form => HeldReply {
            answers: question.answers.unwrap_or_else(|| vec![answer]),
            handover,
            ..HeldReply::default()
        },
    })
}
