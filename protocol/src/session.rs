//! Sessions as clients register them and as the API shows them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Holder, InboxName, Phase, Process, ProjectName, Seq, SessionState, Timestamp};

/// A session's own data, the body of `PUT /sessions/{id}`. An absent field keeps its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// The name that the session asks for; the hub makes it unique in the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The program that runs in the session: `claude`, `codex`, `gemini`, `opencode`, `run` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The machine's host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The session's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The session that it is a worker of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InboxName>,
    /// `primary` makes it the session that the person talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Whether its directory is in the project's main worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_worktree: Option<bool>,
    /// Whether it answers one prompt and ends (`claude -p`, `codex exec`, an Agent SDK program), so nothing can wake
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headless: Option<bool>,
    /// The process that it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// The branch that is checked out in its working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The web address of the directory's repository, such as `https://github.com/tokio-rs/axum`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The session's tmux pane, such as `%7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
    /// Whether the hub may paste into that pane when nothing else wakes the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane_delivery: Option<bool>,
    /// The session's title in its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Any JSON value that a program adds.
    #[serde(
        default,
        deserialize_with = "crate::null::value",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Value>,
}

/// A session as the API shows it.
#[derive(Default, Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The permanent id; the session's inbox has this name.
    pub id: InboxName,
    /// Other ids of the session, for example the one since a `/clear`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<InboxName>,
    /// The short name, unique in its project.
    pub name: String,
    /// The project that it belongs to.
    pub project: ProjectName,
    /// The session's own data, without the name that it asked for.
    #[serde(flatten)]
    pub info: SessionInfo,
    /// Whether it is the primary session of its project.
    pub primary: bool,
    /// Whether it needs the person, and otherwise what it does.
    #[serde(default)]
    pub phase: Phase,
    /// The state that it last reported; absent until a notification or a hook has reported one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// The source of the state, for example `Stop hook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// When it entered that state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Whether its process died before the session ended.
    #[serde(default)]
    pub gone: bool,
    /// Whether it is working, runs no tool and has reported nothing for ten minutes, and the person has not closed that.
    #[serde(default)]
    pub silent: bool,
    /// When the hub last received anything from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// The id of its last notification that reported a state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Seq>,
    /// How many notifications are pending in its inbox.
    pub pending: u64,
    /// The waiter at its inbox, if one is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiter: Option<Holder>,
    /// Whether a notification can wake it now.
    pub wake: Wake,
    /// Why the hub cannot wake it now, so that only its next turn delivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<String>,
    /// The listeners for its next stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<Listener>,
}

/// The answer to `POST /sessions/{target}/go`: the tmux pane that is active now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPane {
    /// The pane, such as `%7`.
    pub pane: String,
    /// Whether a tmux client shows it. Without one, `attach` shows it in a new terminal.
    pub attached: bool,
    /// The command that shows it in a new terminal.
    pub attach: String,
}

/// The answer to `GET /sessions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sessions<T = Session> {
    /// The sessions of a project, or of all projects.
    pub sessions: Vec<T>,
    /// The number of sessions that have ended and are not listed.
    #[serde(default)]
    pub ended: usize,
    /// The products whose hooks have reported one of the sessions that the hub knows.
    #[serde(default)]
    pub reporting: Vec<String>,
}

/// Whether a notification can wake a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wake {
    /// A waiter is connected to its inbox.
    Live,
    /// No waiter is connected now, but one was since the hub started, or the session's hooks are live.
    Stale,
    /// No waiter has been connected since the hub started, and the session has no live hooks.
    #[default]
    None,
}

/// A listener: a session or the person, notified of a session's next stop.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// The inbox that is notified.
    pub caller: InboxName,
    /// When the listener was set.
    pub since: Timestamp,
    /// The deadline by which the session must have stopped, if one was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The answer to `PUT /sessions/{target}/listeners/{caller}`.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The session whose stop the listener waits for.
    pub target: InboxName,
    /// The session's name, if it differs from `target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_name: Option<String>,
    /// Whether this request created the listener; `false` if it existed before.
    pub created: bool,
    /// Whether the listener fired at once, because the target had already stopped.
    pub fired: bool,
    /// The target's state, if the hub knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
}

/// The answer to `DELETE /sessions/{target}/listeners/{caller}`.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlistened {
    /// Whether there was a listener to remove.
    pub removed: bool,
}

/// A sender that is not a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The project that it sends to.
    pub project: ProjectName,
    /// The sender's name.
    pub name: InboxName,
    /// When its last notification was posted.
    pub last_seen: Timestamp,
    /// The id of its last notification.
    pub last: Seq,
}
