//! The query string of a hook request.

use hub_protocol::{InboxName, ProjectName};
use serde::Deserialize;

/// Facts that `hubctl hook` sends besides the agent's payload.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HookParams {
    pub(super) session: Option<InboxName>,
    pub(super) parent: Option<InboxName>,
    pub(super) role: Option<String>,
    pub(super) name: Option<String>,
    pub(super) project: Option<ProjectName>,
    pub(super) main: Option<bool>,
    pub(super) host: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) started: Option<u64>,
    pub(super) boot_id: Option<String>,
    pub(super) pane: Option<String>,
    pub(super) entrypoint: Option<String>,
    pub(super) headless: Option<bool>,
    pub(super) watched: bool,
    pub(super) rewake: bool,
    pub(super) lease: bool,
}

impl HookParams {
    /// Whether the session answers one prompt and ends, if that is known. An unknown entry point of Claude Code counts
    /// as such a session, because a program waits for its end.
    pub(super) fn answers_one_prompt(&self) -> Option<bool> {
        let by_entrypoint = self.entrypoint.as_ref().filter(|it| *it != "cli");
        self.headless.or(by_entrypoint.map(|_| true))
    }

    /// Whether the session is known to answer one prompt and end.
    pub(super) fn is_headless(&self) -> bool {
        self.answers_one_prompt() == Some(true)
    }
}
