//! The intake of hook events: turns an agent's payload into a command. It may use
//! `core`, `fold`, `hub` and `waiters`.

use std::time::Instant;

use axum::extract::Query;
use axum::http::Uri;
use axum::http::uri::InvalidUri;
use hub_agents::{InvalidSessionId, ParsedHook, Reporter, UnknownAgent, parse};
use hub_core::answer::AnswerKind;
use hub_core::command::{AgentEvent, Command, HeldHook, Hook, IdempotencyKey};
use hub_core::confirmed::Confirmed;
use hub_core::fold::{SessionKey, State};
use hub_core::record::TurnCause;
use hub_core::rejected::Rejected;
use hub_core::waiters::{Activity, EventTurn, ToolReport};
use hub_protocol::{
    InboxName, ProjectName, SessionInfo, SpooledHook, Timestamp, ToolCall, first_chars,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Hub;

mod answers;
mod edits;

/// A request is held for this long while the agent shows its own dialog, or waits for a form: the time that the agents'
/// settings give such a hook, in milliseconds. Then only the terminal can answer it.
const HOLD_MS: i64 = 3_600_000;

/// A request is held for this long if that delays the agent.
const SHORT_HOLD_MS: i64 = 60_000;

/// The command of an agent that waits in the background.
const WAITS: &str = "hubctl wait";

/// Longest path in bytes that is stored: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

/// Facts that `hubctl hook` sends besides the agent's payload: the query string of a hook request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // each a flag of its own
pub struct HookParams {
    /// The session that the client names, beside the id in the payload.
    pub session: Option<InboxName>,
    parent: Option<InboxName>,
    role: Option<String>,
    name: Option<String>,
    project: Option<ProjectName>,
    main: Option<bool>,
    host: Option<String>,
    /// The process that runs the session, as the client claims.
    pub pid: Option<u32>,
    /// Earlier clients sent these two; the kernel tells them.
    #[allow(dead_code)]
    started: Option<u64>,
    #[allow(dead_code)]
    boot_id: Option<String>,
    branch: Option<String>,
    repository: Option<String>,
    /// Its tmux pane, as the client claims.
    pub pane: Option<String>,
    /// Whether notifications may be pasted into the pane.
    pub pane_delivery: Option<bool>,
    /// The part of `pid`, `pane` and `pane_delivery` that the kernel confirmed; nothing for an event from a file.
    #[serde(skip)]
    pub confirmed: Confirmed,
    entrypoint: Option<String>,
    headless: Option<bool>,
    watched: bool,
    /// Whether another session sent the prompt of the turn that ends.
    peer: bool,
    /// The name of the agent that `hub-acp` runs.
    agent: Option<String>,
    /// Whether Codex runs with an app-server that takes prompts.
    pub app_server: bool,
    /// Whether the process of `hub-acp` carries several sessions of an editor.
    shared: bool,
    /// Whether `hubctl wait --rewake` runs beside the session.
    pub rewake: bool,
    /// Whether a hook runs when a file changes that the session watches.
    pub watches: bool,
    /// Whether the client acknowledges what it was given.
    pub lease: bool,
    /// When the event happened, in microseconds since its machine started.
    at: Option<u64>,
}

impl HookParams {
    /// Whether the session answers one prompt and ends, if that is known. An unknown entry point of Claude Code counts
    /// as such a session, because a program waits for its end.
    fn answers_one_prompt(&self) -> Option<bool> {
        let by_entrypoint = self.entrypoint.as_ref().filter(|it| *it != "cli");
        self.headless.or(by_entrypoint.map(|_| true))
    }

    /// Whether the event's client spools it before it ends, if it gets no answer in time. What was spooled counts in its
    /// order.
    pub fn is_spooled_in_time(&self) -> bool {
        self.at.is_some()
    }

    /// Whether the session is known to answer one prompt and end.
    pub fn is_headless(&self) -> bool {
        self.answers_one_prompt() == Some(true)
    }
}

/// Why a hook event is not stored.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The hub does not know the agent.
    #[error(transparent)]
    UnknownAgent(#[from] UnknownAgent),
    /// The payload or the query is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The hub rejected the event.
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

impl From<InvalidSessionId> for HookError {
    fn from(error: InvalidSessionId) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// Stores an event that was spooled while the hub was down. It gets no answer.
pub async fn submit_spooled(hub: &Hub, key: &str, spooled: &SpooledHook) -> Result<(), HookError> {
    let once = Some(IdempotencyKey::new(key, spooled.agent.as_bytes()));
    let uri = format!("/?{}", spooled.query).parse();
    let uri: Uri = uri.map_err(|error: InvalidUri| HookError::Invalid(error.to_string()))?;
    let query = Query::try_from_uri(&uri);
    let Query(params) = query.map_err(|error| HookError::Invalid(error.body_text()))?;
    let payload = serde_json::from_str(spooled.body.get());
    let payload = payload.map_err(|error| HookError::Invalid(error.to_string()))?;
    let mut request = HookRequest::new(hub, &spooled.agent, params, &payload, once)?;
    request.held = None;
    Ok(request.submit(false).await?)
}

/// One hook event that is being handled.
pub struct HookRequest {
    /// The hub that handles it.
    pub hub: Hub,
    /// The agent that reports it, or `hub-acp`.
    pub reporter: Reporter,
    /// The facts beside the payload.
    pub params: HookParams,
    /// The agent's payload, parsed.
    pub event: ParsedHook,
    /// How the request is held for the person's answer, if it is.
    pub held: Option<HeldHook>,
    /// The idempotency key of retries. It does not cover the body, because a retried event may have been truncated.
    once: Option<IdempotencyKey>,
}

impl HookRequest {
    /// Parses the payload of the agent that is named `agent`.
    pub fn new(
        hub: &Hub,
        agent: &str,
        params: HookParams,
        payload: &Map<String, Value>,
        once: Option<IdempotencyKey>,
    ) -> Result<Self, HookError> {
        let reporter: Reporter = agent.parse()?;
        let event = parse(reporter, payload)?;
        let mut request = Self {
            hub: hub.clone(),
            reporter,
            params,
            event,
            held: None,
            once,
        };
        // The agent's own id is a name of the session too.
        let mut ids = [request.session(), request.event.id.clone()].into_iter();
        if let Some(id) = ids.find(InboxName::is_reserved) {
            let detail = format!("'{id}' is reserved: a session has a name of its own");
            return Err(HookError::Invalid(detail));
        }
        request.held = request.hold();
        Ok(request)
    }

    /// The session's id: the one in the query, else the agent's.
    pub fn session(&self) -> InboxName {
        let given = self.params.session.as_ref();
        given.unwrap_or(&self.event.id).clone()
    }

    /// The session's project.
    pub fn project(&self) -> ProjectName {
        self.params.project.clone().unwrap_or_default()
    }

    /// The place of the session that the event is about.
    pub fn place(&self, state: &State) -> SessionKey {
        let project = self.project();
        let given = self.params.session.as_ref();
        let known = state.sessions.of_agent(&project, given, &self.event.id);
        known.unwrap_or_else(|| (project, self.session()))
    }

    /// How the request is held for the person's answer; `None` if it is not held.
    ///
    /// It is held for long while the agent shows its own dialog. If holding it delays the agent's dialog, or if the session
    /// has no terminal, it is held only while a dashboard is open, and briefly unless a form is filled in there.
    fn hold(&self) -> Option<HeldHook> {
        let takes = self.event.takes?;
        let wanted = takes != AnswerKind::Permission || self.hub.rules().approvals;
        let headless = self.params.is_headless();
        let delays = self.event.delays_dialog || headless;
        if !wanted || delays && !self.is_for_dashboard() {
            return None;
        }
        let is_long = !delays || takes == AnswerKind::Form && !headless;
        Some(HeldHook {
            within_ms: if is_long { HOLD_MS } else { SHORT_HOLD_MS },
            takes,
            delays,
        })
    }

    /// Whether the person answers on a dashboard: one is open, or was when an earlier hub held the request.
    fn is_for_dashboard(&self) -> bool {
        let is_repeated = || {
            let once = self.once.as_ref()?;
            self.hub.read(|state, _| state.keys.contains(once)).ok()
        };
        !self.params.watched && (self.hub.has_dashboard() || is_repeated() == Some(true))
    }

    /// Submits the event. The fold stores only what is new. `delivers` is whether the answer delivers notifications, so
    /// that the agent continues.
    pub async fn submit(&self, delivers: bool) -> Result<(), Rejected> {
        self.hub.submit(self.command(delivers).await?).await?;
        Ok(())
    }

    /// The command for the event.
    pub async fn command(&self, delivers: bool) -> Result<Command, Rejected> {
        let mut happened = self.event.happened.clone();
        let mut acted = None;
        match &mut happened {
            AgentEvent::Stopped { continues, .. } => {
                *continues = delivers;
                acted = self.in_activity(|it, place| it.has_acted(place))?;
            }
            AgentEvent::Prompt { by, .. } => *by = self.beginner(*by, delivers)?,
            AgentEvent::Failed {
                reason,
                until,
                resumes,
                ..
            } => (*until, *resumes) = self.hub.limit_of(reason),
            AgentEvent::Started
            | AgentEvent::Resumed
            | AgentEvent::Worked
            | AgentEvent::Interrupted
            | AgentEvent::Idle { .. }
            | AgentEvent::Asks { .. }
            | AgentEvent::Permission { .. }
            | AgentEvent::Ended
            | AgentEvent::Exited
            | AgentEvent::Left
            | AgentEvent::Cleared
            | AgentEvent::Seen => {}
        }
        let mut command = self.command_of(happened, self.once.clone());
        if let Command::Hook(hook) = &mut command {
            (hook.acted, hook.used) = (acted, self.used_answers().await?);
        }
        Ok(command)
    }

    /// The command for another event of the same session.
    pub fn command_of(&self, happened: AgentEvent, once: Option<IdempotencyKey>) -> Command {
        Command::Hook(Box::new(Hook {
            project: self.project(),
            given: self.params.session.clone(),
            id: self.event.id.clone(),
            info: self.session_info(),
            other: self.params.confirmed.other.clone(),
            shares_process: self.params.app_server || self.params.shared,
            acp: self.reporter == Reporter::Acp,
            subagent: self.event.subagent.clone(),
            dialog: self.event.dialog.clone(),
            happened,
            event: self.event.name.clone(),
            watched: self.params.watched,
            by_peer: self.params.peer,
            held: self.held,
            once,
            derived_at: None,
            acted: None,
            wordless: !self.hub.rules().keep_words,
            used: None,
        }))
    }

    /// The beginner of a turn, corrected by facts that the agent's payload lacks.
    fn beginner(&self, by: TurnCause, delivers: bool) -> Result<TurnCause, Rejected> {
        let now = Instant::now();
        let by = self
            .in_activity(|it, place| it.take_cause(place, now))?
            .unwrap_or(by);
        if by == TurnCause::Person && self.params.is_headless() {
            return Ok(TurnCause::Agent);
        }
        if !matches!(by, TurnCause::Wake | TurnCause::Task) || delivers {
            return Ok(by);
        }
        let timed_out = self.in_activity(|it, place| it.take_timeout(place, now))?;
        Ok(if timed_out { TurnCause::Timeout } else { by })
    }

    /// Waits until earlier events of the process that reported this one are handled; the next one waits for the result to be
    /// dropped. Only what the kernel confirmed has an order.
    pub async fn turn(&self) -> Option<EventTurn<'_>> {
        let confirmed = &self.params.confirmed;
        let process = confirmed.process.as_ref().or(confirmed.other.as_ref())?;
        Some(self.hub.in_order(process, self.params.at?).await)
    }

    /// Keeps the cause of the turn that begins next.
    pub fn note_cause(&self, cause: TurnCause) -> Result<(), Rejected> {
        let now = Instant::now();
        self.in_activity(|it, place| it.note_cause(place.clone(), cause, now))
    }

    /// Keeps the session's permission mode, if the event tells it.
    pub fn note_mode(&self) -> Result<(), Rejected> {
        let Some(bypasses) = self.event.bypasses else {
            return Ok(());
        };
        self.hub.read(|state, waiters| {
            let place = self.place(state);
            // Nearly every hook finds it unchanged, and then none waits for the writer.
            if waiters.read().bypasses(&place) != bypasses {
                waiters.write().activity().note_mode(place, bypasses);
            }
        })
    }

    /// Keeps which question of the hub a form in the session's terminal shows, if the event tells it.
    pub fn note_form(&self) -> Result<(), Rejected> {
        match self.event.form {
            Some(form) => self.in_activity(|it, place| it.note_form(place.clone(), form)),
            None => Ok(()),
        }
    }

    /// Keeps which files the session has edited, and alerts it and others that edit the same ones. The work is done after
    /// the hook's answer.
    pub fn note_edits(&self) {
        let edited = &self.event.edited;
        if edited.is_empty() || !self.hub.rules().same_file_alerts {
            return;
        }
        let place = (self.project(), self.session());
        let cwd = self.event.cwd.clone();
        tokio::spawn(edits::note(self.hub.clone(), place, cwd, edited.clone()));
    }

    /// Keeps which tool call runs in the session, if the event tells it. A turn begins and ends without one.
    pub fn note_tool(&self) -> Result<(), Rejected> {
        let turns = matches!(
            self.event.happened,
            AgentEvent::Prompt { .. }
                | AgentEvent::Stopped { .. }
                | AgentEvent::Interrupted
                | AgentEvent::Failed { .. }
                | AgentEvent::Ended
                | AgentEvent::Exited
                | AgentEvent::Left
        );
        match &self.event.tool {
            None if turns => {
                let begins = matches!(self.event.happened, AgentEvent::Prompt { .. });
                self.in_activity(|it, place| {
                    it.forget_tools(place);
                    if begins {
                        it.begin_turn(place);
                    }
                })
            }
            None if self.event.happened == AgentEvent::Worked => {
                self.in_activity(Activity::note_act)
            }
            None => Ok(()),
            Some(tool) if tool.ended => self.in_activity(|it, place| {
                it.note_tool(place.clone(), &tool.id, ToolReport::Ended);
                // Waiting for the next notification does nothing about this one.
                if !tool.on.contains(WAITS) {
                    it.note_act(place);
                }
            }),
            Some(tool) => {
                let call = ToolCall {
                    name: tool.name.clone(),
                    on: tool.on.clone(),
                    since: Timestamp::now(),
                };
                self.in_activity(|it, place| {
                    it.note_tool(place.clone(), &tool.id, ToolReport::Began(call));
                })
            }
        }
    }

    fn in_activity<T>(
        &self,
        act: impl FnOnce(&mut Activity, &SessionKey) -> T,
    ) -> Result<T, Rejected> {
        self.hub.read(|state, waiters| {
            let place = self.place(state);
            act(waiters.write().activity(), &place)
        })
    }

    /// The name of the agent that runs the session.
    fn agent_name(&self) -> String {
        let given = self.params.agent.as_deref();
        let given = given.filter(|_| self.reporter == Reporter::Acp);
        first_chars(given.unwrap_or(self.reporter.as_str()), 64).to_owned()
    }

    fn session_info(&self) -> SessionInfo {
        let params = &self.params;
        let given = params.session.as_ref().map(ToString::to_string);
        SessionInfo {
            name: given.or_else(|| params.name.clone()),
            agent: Some(self.agent_name()),
            host: params.host.clone(),
            cwd: self.event.cwd.clone().filter(|cwd| cwd.len() <= MAX_PATH),
            parent: params.parent.clone(),
            role: params.role.clone(),
            main_worktree: params.main,
            headless: params.answers_one_prompt(),
            process: params.confirmed.process.clone(),
            branch: params.branch.clone(),
            repository: params.repository.clone(),
            pane: params.confirmed.pane.clone(),
            pane_delivery: params.confirmed.pane_delivery,
            title: self.event.title.clone(),
            metadata: None,
        }
    }
}
