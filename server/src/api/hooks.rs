//! `POST /hooks/{agent}`: an agent's hook JSON in, its hook JSON out.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Query, State};
use axum::http::uri::InvalidUri;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use hub_protocol::{
    Framed, InboxName, Process, ProjectName, QuestionState, Seq, SessionInfo, SpooledHook, Way,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::params::{self, Params, Part};
use super::payload::Payload;
use super::{ApiError, Code, notify, questions, wait};
use crate::agents::instructions::{self, Situation};
use crate::agents::{Agent, Event, Words};
use crate::command::{Command, Happened, Hook, Once};
use crate::filter::Filter;
use crate::hub::Hub;
use crate::presence::{Batch, WaitSpec};
use crate::record::Beginner;
use crate::state::Inbox;

/// A permission that is asked for is held as long; then the agent's own dialog comes.
const HOLD: Duration = Duration::from_secs(60);

/// Bytes of what rides along: what an agent shows its model without putting it into a file.
const ROOM: usize = 9_000;

/// Bytes of a path that can be one: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

const LEASE: HeaderName = HeaderName::from_static("hub-lease");
const INBOX: HeaderName = HeaderName::from_static("hub-inbox");

/// What the agent's hook knows besides its payload.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HookParams {
    session: Option<InboxName>,
    parent: Option<InboxName>,
    role: Option<String>,
    name: Option<String>,
    project: Option<ProjectName>,
    main: Option<bool>,
    host: Option<String>,
    pid: Option<u32>,
    started: Option<u64>,
    boot_id: Option<String>,
    pane: Option<String>,
    entrypoint: Option<String>,
    rewake: bool,
    lease: bool,
}

/// Takes an event in, and answers with what the agent's session is to know.
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

/// Takes an event in that was said while the hub was down. Nobody waits for an answer.
pub(crate) async fn spooled(hub: &Hub, key: &str, spooled: &SpooledHook) -> Result<(), ApiError> {
    let once = Some(Once::new(key, spooled.agent.as_bytes()));
    let uri = format!("/?{}", spooled.query).parse();
    let uri: Uri = uri.map_err(|error: InvalidUri| ApiError::invalid(error))?;
    let query = Query::<HookParams>::try_from_uri(&uri);
    let Query(params) = query.map_err(|error| ApiError::invalid(error.body_text()))?;
    let payload = serde_json::from_str(spooled.body.get()).map_err(ApiError::invalid)?;
    let telling = Telling::new(hub, &spooled.agent, params, &payload, once)?;
    telling.take_in(false).await.map(drop)
}

/// One event on its way.
struct Telling<'a> {
    hub: &'a Hub,
    agent: Agent,
    params: HookParams,
    event: Event,
    /// Under which key it is told again. The same event may come with another text: it was cut.
    once: Option<Once>,
}

/// What is known of a session when its event was taken in.
struct Known {
    name: String,
    primary: bool,
    parent: Option<String>,
    /// It is to be told that nothing wakes it, though its workers are at work.
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
        let event = agent.hear(payload).map_err(ApiError::invalid)?;
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
        let asked = self.take_in(batch.is_some()).await?;
        let mut words = Words::default();
        if self.event.decides && self.hub.rules().approvals {
            words.decision = self.decision(asked).await?;
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
                rewake: self.params.rewake,
            }));
        }
        if let Some(batch) = &mut batch {
            lines.push(self.text(batch).await?);
        }
        if carries && !stops && known.is_some_and(|known| known.warn) {
            lines.push(WARNING.to_owned());
        }
        words.context = (!lines.is_empty()).then(|| lines.join("\n"));
        let reply = self.agent.reply(&self.event, words);
        let headers = self.acknowledgement(batch).await?;
        Ok(match reply {
            Some(reply) => (headers, Json(reply)).into_response(),
            None => (headers, StatusCode::NO_CONTENT).into_response(),
        })
    }

    /// The id that the session goes by here.
    fn session(&self) -> InboxName {
        let given = self.params.session.as_ref();
        given.unwrap_or(&self.event.id).clone()
    }

    fn project(&self) -> ProjectName {
        self.params.project.clone().unwrap_or_default()
    }

    /// What rides along: everything that is pending for the session, as far as there is room.
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

    /// Whether something is pending that wakes. What is told at a stop begins another turn, as a wake does, so that what
    /// only rides along waits for that.
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

    /// Takes the event into the log, as far as it is news; the notifications that it made.
    async fn take_in(&self, goes_on: bool) -> Result<Vec<Seq>, ApiError> {
        let mut happened = self.event.happened.clone();
        match &mut happened {
            Happened::Stopped { goes_on: it, .. } => *it = goes_on,
            Happened::Prompt { by, .. } => *by = self.beginner(*by, goes_on).await?,
            _ => {}
        }
        let hook = Hook {
            project: self.project(),
            given: self.params.session.clone(),
            id: self.event.id.clone(),
            info: self.info(),
            happened,
            event: self.event.name.clone(),
            once: self.once.clone(),
        };
        let done = self.hub.submit(Command::Hook(Box::new(hook))).await?;
        Ok(done.ids)
    }

    /// Who really began a turn.
    async fn beginner(&self, by: Beginner, delivers: bool) -> Result<Beginner, ApiError> {
        if by == Beginner::Person && self.params.entrypoint.as_deref() == Some("sdk-cli") {
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
            process: params.pid.map(|pid| Process {
                pid,
                started: params.started,
                boot_id: params.boot_id.clone(),
            }),
            pane: params.pane.clone(),
            title: None,
            metadata: None,
        }
    }

    async fn known(&self) -> Result<Known, ApiError> {
        let (project, session) = (self.project(), self.session());
        let new_turn = matches!(self.event.happened, Happened::Prompt { .. });
        let known = self.hub.query(move |state, presence| {
            let (project, key) = state.place(project, session);
            let session = state.session(&project, &key);
            let called = |name: &InboxName| {
                let key = state.called(&project, name);
                let session = state.session(&project, key);
                session
                    .and_then(|it| it.name())
                    .unwrap_or(key.as_str())
                    .to_owned()
            };
            let primary = state.primary(&project) == Some(&key);
            let waits = presence.holder(&project, &key).is_some();
            let asleep = primary && !waits && state.has_busy_workers(&project, &key);
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

    /// What rides along as text; what did not fit is left for another time.
    async fn text(&self, batch: &mut Batch) -> Result<String, ApiError> {
        let mut lines = Vec::new();
        for item in &batch.items {
            let stored = params::stored(self.hub.log(), item.location).await?;
            let json = stored.and_then(|event| event.json());
            let json = json.ok_or(Code::Internal)?;
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

    /// The lease for who acknowledges by themselves; what anybody else was answered counts as shown.
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

    /// Somebody's answer to what was asked, if it comes in time; never one of the hub's own.
    async fn decision(&self, asked: Vec<Seq>) -> Result<Option<(bool, Option<String>)>, ApiError> {
        let Some(&id) = asked.first() else {
            return Ok(None);
        };
        let _held = self.hub.hold(id).await?;
        let question = questions::settled(self.hub, id, HOLD).await?;
        let Some(answer) = question
            .answer
            .filter(|_| question.state == QuestionState::Answered)
        else {
            return Ok(None);
        };
        let (word, reason) = answer.split_once(':').unwrap_or((&answer, ""));
        let reason = Some(reason.trim().to_owned()).filter(|it| !it.is_empty());
        Ok(match word.trim().to_ascii_lowercase().as_str() {
            "allow" | "yes" | "approve" => Some((true, None)),
            "deny" | "no" => Some((false, reason)),
            // Anything else is no permission, and no refusal either: the agent's own dialog asks.
            _ => None,
        })
    }
}

const WARNING: &str = "[hub] Your workers are at work and nothing wakes you when they stop. Run this now:\nBash(command: \"hubctl wait\", run_in_background: true)";
