//! One session: what it said, what it is, and where its turn stands.

use hub_protocol::{InboxName, ProjectName, Seq, SessionInfo, SessionState, Timestamp};
use serde::{Deserialize, Serialize};

use crate::record::{Beginner, SessionSet, Turn};

/// Background work that still runs at a stop is waited for as long, in milliseconds; so is a model that failed.
pub(super) const PATIENCE_MS: i64 = 10 * 60 * 1000;
/// A session's inbox is closed so long after its end, in milliseconds.
const INBOX_KEPT_MS: i64 = 24 * 3600 * 1000;

/// A session, by what the log says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// What it is doing, once it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// The record that told the state.
    pub seq: Seq,
    /// Since when it is in that state.
    pub ts: Timestamp,
    /// What told it, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// Its last notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Seq>,
    /// What is known of it, if it was ever registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<Registered>,
    /// When it last said that it works, in this state or an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<Timestamp>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Timestamp>,
    /// Whether its process died.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Where its turn stands.
    #[serde(default, skip_serializing_if = "TurnState::is_default")]
    pub(super) turn: TurnState,
    /// The last record that concerned it: the one that was silent for longest is forgotten first.
    #[serde(default)]
    pub(super) touched: Seq,
}

/// What a registered session told of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// The first record of it.
    pub seq: Seq,
    /// What it told.
    pub info: SessionInfo,
    /// Other ids that it goes by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<InboxName>,
    /// Whether its agent's hooks are live.
    #[serde(default)]
    pub hooks: bool,
}

/// Where a session's turn stands, by its hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TurnState {
    pub(super) by: Beginner,
    /// A notification of its own said how the turn ends.
    #[serde(default)]
    pub(super) signalled: bool,
    /// It stopped, and nothing began since.
    #[serde(default)]
    pub(super) stopped: bool,
    /// Background work that ran at the last stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tasks: Vec<String>,
    /// Stopped with background work or workers at work: it waits from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) waits_from: Option<Timestamp>,
    /// The model failed: it is an error from then on, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fails_from: Option<(Timestamp, String)>,
    /// The state before the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<SessionState>,
}

impl TurnState {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Something that is due for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Due {
    /// Its background work takes so long that it counts as waiting.
    Waits,
    /// Its model failed and nothing came since.
    Fails(String),
    /// Its inbox is closed.
    InboxCloses,
}

impl Session {
    /// Whether it is not over.
    pub fn is_alive(&self) -> bool {
        self.over.is_none()
    }

    /// Whether hooks of its agent prove what arrives.
    pub fn has_hooks(&self) -> bool {
        self.is_alive() && self.registered.as_ref().is_some_and(|it| it.hooks)
    }

    /// What it told of itself.
    pub fn info(&self) -> Option<&SessionInfo> {
        self.registered.as_ref().map(|it| &it.info)
    }

    /// Its short name, where it is registered.
    pub fn name(&self) -> Option<&str> {
        self.info()?.name.as_deref()
    }

    /// Whose worker it is.
    pub fn parent(&self) -> Option<&InboxName> {
        self.info()?.parent.as_ref()
    }

    /// A notification told its state.
    pub(super) fn note_state(&mut self, state: SessionState, seq: Seq, ts: Timestamp, what: &str) {
        (self.state, self.seq, self.ts) = (Some(state), seq, ts);
        what.clone_into(&mut self.evidence);
        self.turn.signalled = state != SessionState::Working;
        self.turn.fails_from = None;
        if state == SessionState::Working {
            self.worked = Some(ts);
        } else {
            self.turn.waits_from = None;
        }
        if state == SessionState::Ended {
            self.over = Some(ts);
        } else {
            (self.over, self.gone) = (None, false);
        }
    }

    pub(super) fn set(&mut self, seq: Seq, record: &SessionSet) {
        let it = self.registered.get_or_insert_with(|| Registered {
            seq,
            ..Registered::default()
        });
        merge(&mut it.info, &record.info);
        it.hooks |= record.hooks;
        if let Some(alias) = &record.alias
            && !it.aliases.contains(alias)
        {
            it.aliases.push(alias.clone());
        }
        if self.over.take().is_some() {
            (self.gone, self.state) = (false, None);
        }
        if self.ts == Timestamp::default() {
            self.ts = record.at;
        }
    }

    pub(super) fn note_turn(&mut self, seq: Seq, turn: &Turn, evidence: &str, at: Timestamp) {
        evidence.clone_into(&mut self.evidence);
        match turn {
            Turn::Began { by } => {
                let before = self.state.filter(|state| *state != SessionState::Working);
                self.turn = TurnState {
                    by: *by,
                    tasks: std::mem::take(&mut self.turn.tasks),
                    before: before.or(self.turn.before),
                    ..TurnState::default()
                };
                (self.state, self.seq, self.ts) = (Some(SessionState::Working), seq, at);
                self.worked = Some(at);
            }
            Turn::Stopped { tasks, silent } => {
                self.turn.stopped = true;
                self.turn.tasks.clone_from(tasks);
                let works = self.state == Some(SessionState::Working);
                if works && !silent {
                    self.turn.waits_from = Some(at.plus_millis(PATIENCE_MS));
                } else if works && *silent {
                    self.state = self.turn.before.or(Some(SessionState::Waiting));
                    (self.seq, self.ts) = (seq, at);
                }
            }
            Turn::Failed { reason } => {
                self.turn.fails_from = Some((at.plus_millis(PATIENCE_MS), reason.clone()));
            }
        }
    }

    /// What is due next, and when.
    pub(super) fn due(&self) -> Option<(Timestamp, Due)> {
        if let Some(over) = self.over {
            let closes = self.registered.is_some();
            return closes.then(|| (over.plus_millis(INBOX_KEPT_MS), Due::InboxCloses));
        }
        let waits = self.turn.waits_from.map(|at| (at, Due::Waits));
        let fails = self.turn.fails_from.clone();
        let fails = fails.map(|(at, reason)| (at, Due::Fails(reason)));
        [waits, fails]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)
    }

    /// The wall clock moved.
    pub(super) fn shift(&mut self, delta_ms: i64) {
        let times = [&mut self.over, &mut self.turn.waits_from];
        for at in times.into_iter().flatten() {
            *at = at.plus_millis(delta_ms);
        }
        if let Some((at, _)) = &mut self.turn.fails_from {
            *at = at.plus_millis(delta_ms);
        }
    }
}

/// Takes over what `news` says.
fn merge(known: &mut SessionInfo, news: &SessionInfo) {
    macro_rules! take {
        ($($field:ident),*) => { $( if news.$field.is_some() { known.$field.clone_from(&news.$field); } )* };
    }
    take!(
        name,
        agent,
        host,
        cwd,
        parent,
        role,
        main_worktree,
        process,
        pane,
        title,
        metadata
    );
}

/// What of `said` is not known yet.
pub(super) fn news(known: &SessionInfo, said: &SessionInfo) -> SessionInfo {
    let mut merged = known.clone();
    merge(&mut merged, said);
    macro_rules! keep {
        ($($field:ident),*) => { SessionInfo { $( $field: if merged.$field == known.$field { None } else { merged.$field }, )* } };
    }
    keep!(
        name,
        agent,
        host,
        cwd,
        parent,
        role,
        main_worktree,
        process,
        pane,
        title,
        metadata
    )
}

/// A session's place: its project and its first id.
pub type Key = (ProjectName, InboxName);
