//! `POST /hooks/{agent}`: reads an agent's hook JSON and answers with its hook JSON.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Query, State};
use axum::http::uri::InvalidUri;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use hub_protocol::{
    Agent, Framed, InboxName, Process, ProjectName, QuestionState, Seq, SessionInfo, SpooledHook,
    Way, one_line, verdict,
};
use serde_json::{Map, Value};

use super::params::{Params, Part};
use super::payload::Payload;
use super::{ApiError, Code, lost, notify, questions, wait};
use crate::agents::instructions::{self, Situation, Woken};
use crate::agents::{self, Event, Words};
use crate::command::{Command, Happened, Hook, Once};
use crate::filter::Filter;
use crate::hub::Hub;
use crate::presence::{Batch, WaitSpec};
use crate::record::Beginner;
use crate::state::Inbox;

mod note;
mod query;

pub(crate) use self::query::HookParams;

/// A permission request is held for this long; then the agent shows its own dialog.
const HOLD: Duration = Duration::from_secs(60);

/// Limit in bytes for the delivered text. Above it, agents move a hook's text into a file instead of showing it to the
/// model.
const ROOM: usize = 9_000;

/// Longest path in bytes that is stored: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

const LEASE: HeaderName = HeaderName::from_static("hub-lease");
const INBOX: HeaderName = HeaderName::from_static("hub-inbox");

/// Stores an event, and answers with the text for the agent's session.
pub(super) async fn hook(
    State(hub): State<Hub>,
    Part(agent): Part<String>,
    Params(params): Params<HookParams>,
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, ApiError> {
    let once = notify::once_key(&headers)?.map(|key| Once::new(&key, agent.as_bytes()));
    let payload: Map<String, Value> = payload.json()?;
    Telling::new(&hub, &agent, params, &payload, once)?
        .answer()
        .await
}

/// Stores an event that was spooled while the hub was down. It gets no answer.
pub(crate) async fn spooled(hub: &Hub, key: &str, spooled: &SpooledHook) -> Result<(), ApiError> {
    let once = Some(Once::new(key, spooled.agent.as_bytes()));
    let uri = format!("/?{}", spooled.query).parse();
    let uri: Uri = uri.map_err(|error: InvalidUri| ApiError::invalid(error))?;
    let query = Query::<HookParams>::try_from_uri(&uri);
    let Query(params) = query.map_err(|error| ApiError::invalid(error.body_text()))?;
    let payload = serde_json::from_str(spooled.body.get()).map_err(ApiError::invalid)?;
    let telling = Telling::new(hub, &spooled.agent, params, &payload, once)?;
    telling.take_in(false).await
}

/// One hook event that is being handled.
struct Telling<'a> {
    hub: &'a Hub,
    agent: Agent,
    params: HookParams,
    event: Event,
    /// The idempotency key of retries. It does not cover the body, because a retried event may have been truncated.
    once: Option<Once>,
}

/// Facts about the session at the time of its event.
struct Known {
    name: String,
    primary: bool,
    parent: Option<String>,
    /// Whether to warn it that nothing wakes it while its workers are busy.
    warn: bool,
}

impl<'a> Telling<'a> {
    fn new(
        hub: &'a Hub,
        agent: &str,
        params: HookParams,
        payload: &Map<String, Value>,
        once: Option<Once>,
    ) -> Result<Self, ApiError> {
        let unknown = |error| ApiError::new(Code::UnknownAgent, error);
        let agent: Agent = agent.parse().map_err(unknown)?;
        let event = agents::parse(agent, payload).map_err(ApiError::invalid)?;
        let id = params.session.as_ref().unwrap_or(&event.id);
        if id.is_reserved() {
            let detail = format!("'{id}' is reserved: a session has a name of its own");
            return Err(ApiError::invalid(detail));
        }
        Ok(Self {
            hub,
            agent,
            params,
            event,
            once,
        })
    }

    async fn answer(self) -> Result<Response, ApiError> {
        let starts = self.event.happened == Happened::Started && !self.event.subagent;
        let stops = matches!(self.event.happened, Happened::Stopped { .. });
        let carries = self.event.carries && !self.event.subagent;
        let mut batch = None;
        if carries && !starts && (!stops || self.something_wakes().await?) {
            batch = self.hub.take(self.wanted()).await?;
        }
        let mut words = Words {
            note: self.note().await?,
            ..Words::default()
        };
        if self.holds() {
            words.decision = self.decision(batch.is_some()).await?;
        } else {
            self.take_in(batch.is_some()).await?;
        }
        let mut lines = Vec::new();
        let known = if starts || carries {
            Some(self.known().await?)
        } else {
            None
        };
        if let Some(known) = known.as_ref().filter(|_| starts) {
            lines.push(instructions::text(&Situation {
                name: &known.name,
                primary: known.primary,
                parent: known.parent.as_deref(),
                woken: self.woken(),
            }));
        }
        if let Some(batch) = &mut batch {
            lines.push(self.text(batch).await?);
        }
        if carries && !stops && known.is_some_and(|known| known.warn) {
            lines.extend(self.woken().warning().map(str::to_owned));
        }
        words.context = (!lines.is_empty()).then(|| lines.join("\n"));
        let reply = agents::render(self.agent, &self.event, words);
        let headers = self.acknowledgement(batch).await?;
        Ok(match reply {
            Some(reply) => (headers, Json(reply)).into_response(),
            None => (headers, StatusCode::NO_CONTENT).into_response(),
        })
    }

    /// The session's id: the one that the hook gave in its query, else the agent's.
    fn session(&self) -> InboxName {
        let given = self.params.session.as_ref();
        given.unwrap_or(&self.event.id).clone()
    }

    fn project(&self) -> ProjectName {
        self.params.project.clone().unwrap_or_default()
    }

    /// The note that shows the person which notifications woke this turn, if a wake began it.
    async fn note(&self) -> Result<Option<String>, ApiError> {
        let Happened::Prompt { by, .. } = self.event.happened else {
            return Ok(None);
        };
        if by != Beginner::Wake {
            return Ok(None);
        }
        note::of_a_wake(self.hub, self.project(), self.session()).await
    }

    fn woken(&self) -> Woken {
        match self.agent {
            _ if self.params.rewake => Woken::ByItsHooks,
            _ if self.params.is_headless() => Woken::Never,
            Agent::Claude => Woken::ByACommand,
            _ => Woken::ByThePersonOnly,
        }
    }

    /// Whether the hook's request is held for a person's decision.
    fn holds(&self) -> bool {
        self.event.decides && self.hub.rules().approvals
    }

    /// A batch of everything that is pending for the session, up to [`ROOM`] bytes.
    fn wanted(&self) -> WaitSpec {
        WaitSpec {
            project: self.project(),
            inboxes: Vec::new(),
            own: false,
            name: Some(format!("hook:{}", self.event.id)),
            session: Some(self.session()),
            way: Some(Way::Hook),
            filter: Filter::default(),
            barrier: None,
            settle: Duration::ZERO,
            deadline: Instant::now(),
            room: ROOM,
            drain: true,
            takeover: false,
        }
    }

    /// Whether a waking notification is pending. A delivery at a stop begins another turn, as a wake does, so
    /// notifications that only ride along are not delivered there by themselves.
    async fn something_wakes(&self) -> Result<bool, ApiError> {
        let (project, session) = (self.project(), self.session());
        let wakes = self.hub.query(move |state, presence| {
            let (project, key) = state.place(project, session);
            state.inboxes_of(&project, &key).iter().any(|name| {
                let inbox = state.inbox(&project, name).into_iter();
                let mut items = inbox.flat_map(Inbox::offerable);
                items.any(|item| item.wakes && !presence.is_leased(&project, name, item.seq))
            })
        });
        Ok(wakes.await?)
    }

    /// Submits the event. The fold stores only what is new.
    async fn take_in(&self, goes_on: bool) -> Result<(), ApiError> {
        let hook = self.told(goes_on).await?;
        self.hub.submit(hook).await?;
        Ok(())
    }

    /// The command for the event.
    async fn told(&self, goes_on: bool) -> Result<Command, ApiError> {
        let mut happened = self.event.happened.clone();
        match &mut happened {
            Happened::Stopped { goes_on: it, .. } => *it = goes_on,
            Happened::Prompt { by, .. } => *by = self.beginner(*by, goes_on).await?,
            _ => {}
        }
        let hook = self.hook(happened, self.once.clone());
        Ok(Command::Hook(Box::new(hook)))
    }

    fn hook(&self, happened: Happened, once: Option<Once>) -> Hook {
        Hook {
            project: self.project(),
            given: self.params.session.clone(),
            id: self.event.id.clone(),
            info: self.info(),
            happened,
            event: self.event.name.clone(),
            watched: self.params.watched,
            held: self.holds(),
            once,
        }
    }

    /// The beginner of a turn, corrected by facts that the agent's payload lacks.
    async fn beginner(&self, by: Beginner, delivers: bool) -> Result<Beginner, ApiError> {
        if by == Beginner::Person && self.params.is_headless() {
            return Ok(Beginner::Agent);
        }
        if by != Beginner::Wake || delivers {
            return Ok(by);
        }
        let (project, session) = (self.project(), self.session());
        let echo = self.hub.query(move |state, presence| {
            let place = state.place(project, session);
            presence.company().take_timeout(&place, Instant::now())
        });
        Ok(if echo.await? { Beginner::Timeout } else { by })
    }

    fn info(&self) -> SessionInfo {
        let params = &self.params;
        let given = params.session.as_ref().map(ToString::to_string);
        SessionInfo {
            name: given.or_else(|| params.name.clone()),
            agent: Some(self.agent.as_str().into()),
            host: params.host.clone(),
            cwd: self.event.cwd.clone().filter(|cwd| cwd.len() <= MAX_PATH),
            parent: params.parent.clone(),
            role: params.role.clone(),
            main_worktree: params.main,
            headless: params.answers_one_prompt(),
            process: params.pid.map(|pid| Process {
                pid,
                started: params.started,
                boot_id: params.boot_id.clone(),
            }),
            pane: params.pane.clone(),
            title: self.event.title.clone(),
            metadata: None,
        }
    }

    async fn known(&self) -> Result<Known, ApiError> {
        let (project, session) = (self.project(), self.session());
        let new_turn = matches!(self.event.happened, Happened::Prompt { .. });
        let wakes = self.woken() != Woken::Never;
        let known = self.hub.query(move |state, presence| {
            let (project, key) = state.place(project, session);
            let session = state.session(&project, &key);
            let called = |name: &InboxName| {
                let key = state.called(&project, name);
                let session = state.session(&project, key);
                let name = session
                    .and_then(|it| it.shown_name())
                    .unwrap_or(key.as_str());
                one_line(name).into_owned()
            };
            let primary = state.primary(&project) == Some(&key);
            let waits = presence.holder(&project, &key).is_some();
            let asleep = wakes && primary && !waits && state.has_busy_workers(&project, &key);
            let place = (project.clone(), key.clone());
            Known {
                name: called(&key),
                primary,
                parent: session.and_then(|it| it.parent()).map(called),
                warn: asleep && presence.company().warn(place, new_turn, Instant::now()),
            }
        });
        Ok(known.await?)
    }

    /// The batch as text for the model. Notifications that do not fit are removed from the lease and stay pending.
    async fn text(&self, batch: &mut Batch) -> Result<String, ApiError> {
        let mut lines = Vec::new();
        for item in &batch.items {
            let json = lost::json(self.hub, &batch.project, item.id, item.location).await?;
            let mut json = String::from_utf8_lossy(&json).into_owned();
            if item.redelivered {
                json.truncate(json.len() - 1);
                json.push_str(",\"redelivered\":true}");
            }
            lines.push(json);
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let framed = Framed::new(&lines, batch.remaining);
        let left: Vec<Seq> = batch.items[framed.shown..].iter().map(|it| it.id).collect();
        for (_, ids) in &mut batch.lease {
            ids.retain(|id| !left.contains(id));
        }
        Ok(framed.text)
    }

    /// Returns the lease in headers if the caller acknowledges by itself; otherwise records the batch as shown.
    async fn acknowledgement(&self, batch: Option<Batch>) -> Result<HeaderMap, ApiError> {
        let mut headers = HeaderMap::new();
        let Some(batch) = batch else {
            return Ok(headers);
        };
        let claim = wait::claim(self.hub, &batch);
        if self.params.lease {
            let inbox = claim.items.first().map(|(inbox, _)| inbox.to_string());
            let lease = HeaderValue::from_str(&self.hub.leases().sign(&claim));
            let inbox = HeaderValue::from_str(&inbox.unwrap_or_default());
            headers.insert(LEASE, lease.map_err(|_| Code::Internal)?);
            headers.insert(INBOX, inbox.map_err(|_| Code::Internal)?);
            return Ok(headers);
        }
        let command = Command::Ack {
            project: claim.project,
            items: claim.items,
            by: claim.by,
            shown: claim.shown,
        };
        self.hub.submit(command).await?;
        Ok(headers)
    }

    /// Waits for the verdict on a permission request, up to [`HOLD`]. A question that the hub itself settled gives
    /// none.
    async fn decision(&self, goes_on: bool) -> Result<Option<(bool, Option<String>)>, ApiError> {
        let hook = self.told(goes_on).await?;
        let (asked, _held) = self.hub.submit_held(hook).await?;
        let Some(&id) = asked.first() else {
            return Ok(None);
        };
        let question = questions::settled(self.hub, id, HOLD).await?;
        let answer = question.answer;
        let answer = answer.filter(|_| question.state == QuestionState::Answered);
        // Any other answer neither allows nor denies, so the agent shows its own dialog.
        let decision = answer.and_then(|answer| verdict(&answer));
        if decision.is_some() {
            self.goes_on().await;
        }
        Ok(decision)
    }

    /// Records that the turn continues, because after a denial no other hook reports it and the turn's stop would not
    /// count as news. A failure is only logged: the answer has been given and must reach the agent.
    async fn goes_on(&self) {
        let hook = self.hook(Happened::Worked, None);
        if let Err(error) = self.hub.submit(Command::Hook(Box::new(hook))).await {
            tracing::warn!(%error, "cannot note that a session goes on after an answer");
        }
    }
}
