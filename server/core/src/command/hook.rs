//! Events of agents' hooks, in terms that all agents share.

use hub_agents::{AgentEvent, AnswerKind};
use hub_protocol::{InboxName, Process, ProjectName, Seq, SessionInfo};
use serde::{Deserialize, Serialize};

use super::IdempotencyKey;
use crate::fold::SessionKey;

/// One event of an agent's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each a flag of its own
pub struct Hook {
    /// The project in which the event was reported.
    pub project: ProjectName,
    /// The session's name, if it was started with one (`HUB_SESSION`).
    pub given: Option<InboxName>,
    /// The agent's own id of the session.
    pub id: InboxName,
    /// The session's properties, as far as they are known.
    pub info: SessionInfo,
    /// The process that reported the event, if it is not the session's own, which lives.
    #[serde(default)]
    pub other: Option<Process>,
    /// Whether the session's process also runs other sessions, so that it does not identify this one.
    pub shares_process: bool,
    /// Whether `hub-acp` reports it, which speaks with the agent in the person's place.
    #[serde(default)]
    pub acp: bool,
    /// The subagent in which it happened, by the agent's id of it; `None` in the session itself.
    pub subagent: Option<String>,
    /// The dialog that it opens or closes, by the agent's id of it, if the agent names it.
    #[serde(default)]
    pub dialog: Option<String>,
    /// The event.
    pub happened: AgentEvent,
    /// The name that the agent gives the event, shown to people.
    pub event: String,
    /// Whether the person has the session's terminal in view.
    pub watched: bool,
    /// Whether it is known by the end of the turn that another session sent the prompt.
    pub by_peer: bool,
    /// How the hook's request is held for an answer, if it is.
    pub held: Option<HeldHook>,
    /// The Idempotency-Key, if the event has one: it is processed once for each key.
    pub once: Option<IdempotencyKey>,
    /// The answers from the hub that the agent used, and those instead of which it used the answer of its own terminal, as far
    /// as the event tells; `None` if any next step proves that it used them.
    #[serde(default)]
    pub used: Option<Vec<(Seq, bool)>>,
    /// For an event that a bridge derived: the record that reported the session's state by then. If another record has
    /// reported one since, the event is ignored.
    pub derived_at: Option<Seq>,
    /// At a stop, whether the agent did anything in the turn; `None` if that is not known.
    #[serde(default)]
    pub acted: Option<bool>,
    /// Whether prompts and the agent's last messages stay out of the log.
    #[serde(default)]
    pub wordless: bool,
}

/// A hook's request that the hub holds until its question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldHook {
    /// The time for an answer, from the question on, in milliseconds.
    pub within_ms: i64,
    /// The answers that the agent takes.
    pub takes: AnswerKind,
    /// Whether the agent shows no dialog meanwhile.
    pub delays: bool,
}

impl Hook {
    /// An event that the hub derives for a session by itself: `event` names its source, and `derived_at` is the record that
    /// reported the session's state by then.
    pub fn derived(
        (project, id): SessionKey,
        happened: AgentEvent,
        event: &str,
        derived_at: Seq,
    ) -> Self {
        Self {
            project,
            given: None,
            id,
            info: SessionInfo::default(),
            other: None,
            shares_process: false,
            acp: false,
            subagent: None,
            dialog: None,
            happened,
            event: event.into(),
            watched: false,
            by_peer: false,
            held: None,
            once: None,
            derived_at: Some(derived_at),
            acted: None,
            wordless: false,
            used: None,
        }
    }

    /// The event name for changes of Claude Code's session files; these are not hook events.
    pub const SESSION_FILE: &str = "session file";

    /// The event name for what Codex's session files tell; these are not hook events.
    pub const ROLLOUT: &str = "rollout";

    /// The event name for what Codex's app-server tells; this is no hook event.
    pub const APP_SERVER: &str = "app-server";

    /// The process that runs this session and no other one; `None` if the kernel did not confirm one.
    pub fn process(&self) -> Option<&Process> {
        let confirmed = self.info.process.as_ref();
        let own = !self.shares_process && self.derived_at.is_none();
        confirmed.filter(|it| own && it.started.is_some())
    }

    /// Returns the source of the event, shown to people.
    pub fn evidence(&self) -> String {
        match self.event.as_str() {
            Self::APP_SERVER => "Codex's app-server".into(),
            Self::SESSION_FILE => "Claude Code's session file".into(),
            Self::ROLLOUT => "Codex's session file".into(),
            event => format!("{event} hook"),
        }
    }
}
