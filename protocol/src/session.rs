//! Sessions as they are registered and shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Holder, InboxName, ProjectName, Seq, SessionState, Timestamp};

/// A process on a machine. A number alone is given again; with the time of its start and the boot it is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started: field 22 of `proc_pid_stat(5)`, in clock ticks since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// `/proc/sys/kernel/random/boot_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

/// What is said of a session, `PUT /sessions/{id}`. What is absent stays as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionInfo {
    /// The name it would like; made unique in its project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What runs: `claude`, `codex`, `gemini`, `opencode`, `run` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whose worker it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InboxName>,
    /// `primary` makes it the one that the person talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Whether it runs in the project's main worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_worktree: Option<bool>,
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Its tmux pane, such as `%7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Anything a program wants to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// A session as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Session {
    /// What it is called for good; its inbox has this name.
    pub id: InboxName,
    /// Other ids it goes by, for example since a `/clear`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<InboxName>,
    /// A short name, unique in its project.
    pub name: String,
    /// The project.
    pub project: ProjectName,
    /// What it told of itself, but for the name that it would like.
    #[serde(flatten)]
    pub info: SessionInfo,
    /// Whether it is the project's primary.
    pub primary: bool,
    /// What it is doing; absent until it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// What tells the state, for example `Stop hook`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Since when it is in that state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Whether its process died unfinished.
    #[serde(default)]
    pub gone: bool,
    /// Whether it works and said nothing for ten minutes.
    #[serde(default)]
    pub silent: bool,
    /// When it was last heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// Its last notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Seq>,
    /// How many notifications are pending in its inbox.
    pub pending: u64,
    /// Who waits at its inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiter: Option<Holder>,
    /// Whether something wakes it.
    pub wake: Wake,
    /// Who listens for its next stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<Listener>,
}

/// Whether something wakes a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wake {
    /// Somebody waits at its inbox.
    Live,
    /// Nobody does now; somebody did since the hub started, or its hooks are live.
    Stale,
    /// Nobody does or did.
    None,
}

/// Somebody who is told of a session's next stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// Who is told.
    pub caller: InboxName,
    /// Since when.
    pub since: Timestamp,
    /// Until when something must have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The answer to `PUT /sessions/{target}/listeners/{caller}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The session that is listened to.
    pub target: InboxName,
    /// Whether this made the listener; not so where it was there.
    pub created: bool,
    /// Whether it fired at once, because the target had stopped already.
    pub fired: bool,
    /// The target's state, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
}

/// The answer to `DELETE /sessions/{target}/listeners/{caller}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlistened {
    /// Whether there was one.
    pub removed: bool,
}

/// A sender that is no session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The project.
    pub project: ProjectName,
    /// Its name.
    pub name: InboxName,
    /// When it last said something.
    pub last_seen: Timestamp,
    /// What it last said.
    pub last: Seq,
}
