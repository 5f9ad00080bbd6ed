//! Commands: parsed and validated requests to the fold, and the reasons for which the fold refuses them.

use bytes::Bytes;
use hub_protocol::{
    InboxName, Place, Preferences, Process, ProjectName, QuestionState, Quoted, Seq, SessionInfo,
    Timestamp, Way,
};
use serde::{Deserialize, Serialize};

use crate::answer::AnswerKind;
use crate::notification::Draft;
use crate::record::Record;

mod hook;
mod rule;

pub use hook::{HeldHook, Hook};
pub use hub_agents::AgentEvent;
pub use rule::RuleCommand;

/// A request to the fold.
#[allow(clippy::large_enum_variant)] // few exist at a time, and each is moved once
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Command {
    /// Store notifications, all or none.
    Notify {
        /// The notifications to store, in order.
        drafts: Vec<Draft>,
        /// The Idempotency-Key, if the request has one: it is carried out once for each key.
        once: Option<IdempotencyKey>,
    },
    /// Acknowledge notifications.
    Ack {
        /// The project of the inboxes.
        project: ProjectName,
        /// Each inbox with the notifications that its reader acknowledges.
        items: Vec<(InboxName, Vec<Seq>)>,
        /// The name of the reader.
        by: Option<String>,
        /// The agent session that saw them, and how they were shown.
        shown: Option<(InboxName, Way)>,
    },
    /// Return notifications to their inboxes that a session was to be shown, and that it did not get.
    Undelivered {
        /// The project of the inboxes.
        project: ProjectName,
        /// Each inbox with its notifications.
        items: Vec<(InboxName, Vec<Seq>)>,
        /// How they were to be shown; they are not offered in this way again.
        way: Way,
        /// The reason, for people.
        why: String,
    },
    /// Withdraw notifications.
    Withdraw {
        /// The notifications to withdraw.
        ids: Vec<Seq>,
    },
    /// Withdraw the pending notifications with a collapse key.
    WithdrawKey {
        /// The project of the inboxes.
        project: ProjectName,
        /// The sender; `None` means any.
        from: Option<InboxName>,
        /// The collapse key.
        key: String,
    },
    /// Mark notifications as seen or unseen.
    Seen {
        /// The notifications to mark.
        ids: Vec<Seq>,
        /// Mark the notifications in these ranges too: the first and last number of each.
        ranges: Vec<(Seq, Seq)>,
        /// Whether to mark them as seen; `false` removes the mark.
        seen: bool,
    },
    /// Replace the person's preferences.
    SetPreferences(Box<Preferences>),
    /// Remove an inbox and drop its pending notifications.
    CloseInbox {
        /// The project of the inbox.
        project: ProjectName,
        /// The inbox to remove.
        inbox: InboxName,
    },
    /// Empty a project: its inboxes, keys and session states.
    Reset {
        /// The project to empty.
        project: ProjectName,
        /// Whether to hide the project's earlier notifications from readers as well.
        history: bool,
    },
    /// Drop the log's prefix.
    Trim {
        /// The first number to keep.
        below: Seq,
        /// The JSON of each notification below that is still pending; any that is missing here is evicted.
        #[serde(skip)] // only the active hub trims
        rewritten: Vec<(Seq, Bytes)>,
        /// Whether the prefix is too old, by a clock that may have jumped since.
        by_age: bool,
    },
    /// Register a session, or update its properties.
    Register {
        /// The project of the session.
        project: ProjectName,
        /// An id of the session.
        session: InboxName,
        /// The session's properties, as far as they are known.
        info: Box<SessionInfo>,
        /// Whether `hubctl run` runs a command as the session, and reports how it ended.
        #[serde(default)] // a hub of an earlier version may send it
        runs: bool,
    },
    /// End a session.
    End {
        /// The project of the session.
        project: ProjectName,
        /// An id or name of the session.
        session: InboxName,
        /// Whether its process exited.
        exited: bool,
        /// The process that exited, if it is known: the session lives on in another one that runs it too.
        process: Option<Process>,
        /// Whether to end it without a notification and withdraw its questions, because its last notification already
        /// said how it ended.
        quiet: bool,
    },
    /// Make a session the project's primary.
    TakePrimary {
        /// The project of the session.
        project: ProjectName,
        /// An id or name of the session.
        session: InboxName,
    },
    /// Close what a session needs of the person.
    CloseNeed {
        /// The session, by project and first id.
        session: (ProjectName, InboxName),
        /// The record that reported the state in which it needs the person. Another one since then refuses the command.
        of: Seq,
        /// When the need opens again, if the session still has it; `None` closes it for good.
        until: Option<Timestamp>,
    },
    /// Decide whether the hub lets a session go on when its limit ends.
    Resume {
        /// The session, by project and first id.
        session: (ProjectName, InboxName),
        /// The record that reported its state. Another one since then refuses the command.
        of: Seq,
        /// Whether it goes on.
        on: bool,
    },
    /// Process an event of an agent's hook.
    Hook(Box<Hook>),
    /// Add a listener: notify a session of another session's next stop.
    Listen {
        /// The project of both sessions.
        project: ProjectName,
        /// The session whose stop is awaited.
        target: InboxName,
        /// The session that is notified of the stop.
        caller: InboxName,
        /// The deadline in milliseconds from now, after which the caller is notified in any case.
        within_ms: Option<i64>,
        /// Whether only a future stop counts; otherwise a past one that was not yet reported does too.
        fresh: bool,
    },
    /// Remove a listener.
    Unlisten {
        /// The project of both sessions.
        project: ProjectName,
        /// The session whose stop is awaited.
        target: InboxName,
        /// The session that would be notified.
        caller: InboxName,
    },
    /// Claim a question.
    Claim {
        /// The number of the question.
        id: Seq,
        /// The session or person that claims it.
        by: InboxName,
    },
    /// Withdraw a question.
    WithdrawQuestion {
        /// The number of the question.
        id: Seq,
        /// The session or person that withdraws it.
        by: InboxName,
    },
    /// Note that the answer to a held question was given to its agent, or that it could not be.
    NoteAnswer {
        /// The number of the question.
        question: Seq,
        /// Whether the agent got the answer; if not, the question is open again.
        delivered: bool,
    },
    /// Note the position of a forward.
    Forwarded {
        /// The name of the forward.
        name: String,
        /// The last record that it is done with.
        up_to: Option<Seq>,
        /// The target's id of the last answer that was read.
        answer: Option<String>,
    },
    /// Do everything that is due by now: expiry, deadlines of listeners, overdue receipts.
    Tick,
    /// Record a jump of the wall clock, and move pending deadlines with it.
    ClockMoved {
        /// The jump in milliseconds, positive if forward.
        delta_ms: i64,
    },
    /// A step of a rule that the hub's bridge for rules reports.
    Rule(RuleCommand),
    /// Become the active hub of the cluster.
    Lead {
        /// The node name of this hub.
        node: String,
        /// The lead of this machine's clock over that of the hub before in milliseconds, if pending deadlines move by it.
        clock_moved_ms: Option<i64>,
    },
}

/// An Idempotency-Key and the request that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKey {
    /// The value of the `Idempotency-Key` header.
    pub key: String,
    /// SHA-256 of the request, in hexadecimal.
    pub digest: String,
}

impl Command {
    /// Whether any hub of a cluster may make this command; the others are for the active one alone.
    pub fn is_from_outside(&self) -> bool {
        !matches!(
            self,
            Self::Tick
                | Self::ClockMoved { .. }
                | Self::Trim { .. }
                | Self::Rule(_)
                | Self::Lead { .. }
                | Self::Forwarded { .. }
        )
    }

    /// Returns the Idempotency-Key.
    pub fn once(&self) -> Option<&IdempotencyKey> {
        match self {
            Self::Notify { once, .. } => once.as_ref(),
            Self::Hook(hook) => hook.once.as_ref(),
            Self::Ack { .. }
            | Self::Undelivered { .. }
            | Self::Withdraw { .. }
            | Self::WithdrawKey { .. }
            | Self::Seen { .. }
            | Self::SetPreferences(_)
            | Self::CloseInbox { .. }
            | Self::Reset { .. }
            | Self::Trim { .. }
            | Self::Register { .. }
            | Self::End { .. }
            | Self::TakePrimary { .. }
            | Self::CloseNeed { .. }
            | Self::Resume { .. }
            | Self::Listen { .. }
            | Self::Unlisten { .. }
            | Self::Claim { .. }
            | Self::WithdrawQuestion { .. }
            | Self::NoteAnswer { .. }
            | Self::Forwarded { .. }
            | Self::Tick
            | Self::ClockMoved { .. }
            | Self::Rule(_)
            | Self::Lead { .. } => None,
        }
    }
}

impl IdempotencyKey {
    /// Hashes the request's body for `key`.
    pub fn new(key: &str, body: &[u8]) -> Self {
        use sha2::Digest as _;
        let digest = crate::secret::hex(&sha2::Sha256::digest(body));
        Self {
            key: key.into(),
            digest,
        }
    }
}

/// The outcome of a command that the fold accepts.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The records to commit together; none if nothing changes.
    Records(Vec<Record>),
    /// The request was carried out before and made these notifications.
    Repeat(Vec<Seq>),
}

impl Decision {
    /// Whether it stores notifications, which occupy space in the log until a reader acknowledges them.
    pub fn has_notifications(&self) -> bool {
        matches!(self, Self::Records(records) if records.iter().any(Record::is_notification))
    }
}

/// Why the fold refuses a command. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The key was used for another request.
    #[error("this Idempotency-Key was used for another request")]
    KeyReused,
    /// A cap on inboxes is reached.
    #[error("{scope} has {cap} inboxes already")]
    TooManyInboxes {
        /// `the project` or `the hub`.
        scope: &'static str,
        /// The most inboxes in that scope.
        cap: usize,
    },
    /// The project has no inbox of this name.
    #[error("no inbox '{inbox}' in project '{project}'{}", of_project(inbox, elsewhere.as_ref()))]
    UnknownInbox {
        /// The project in the request.
        project: ProjectName,
        /// The name in the request.
        inbox: InboxName,
        /// The most similar known name.
        nearest: Option<InboxName>,
        /// Another project with a session of that name.
        elsewhere: Option<ProjectName>,
    },
    /// A number that is above the head, so no notification has it.
    #[error("no notification {0}")]
    UnknownId(Seq),
    /// The project has no session of this id or name.
    #[error("no session '{name}' in project '{project}'{}", of_project(name, elsewhere.as_ref()))]
    UnknownSession {
        /// The project in the request.
        project: ProjectName,
        /// The id or name that was requested.
        name: InboxName,
        /// The most similar known name.
        nearest: Option<String>,
        /// Another project with a session of that name.
        elsewhere: Option<ProjectName>,
    },
    /// A session tried to listen for its own stop.
    #[error("a session cannot listen for its own stop")]
    OwnListener,
    /// A cap on listeners is reached.
    #[error("the hub has {cap} listeners already")]
    TooManyListeners {
        /// The most listeners of the hub.
        cap: usize,
    },
    /// A cap on open questions is reached.
    #[error("the hub has {cap} open questions already")]
    TooManyQuestions {
        /// The most open questions of the hub.
        cap: usize,
    },
    /// A cap on live sessions is reached.
    #[error("the hub has {cap} live sessions already")]
    TooManySessions {
        /// The most live sessions of the hub.
        cap: usize,
    },
    /// A cap on the registrations of all sessions is reached.
    #[error("the registrations of the live sessions have {cap} bytes already")]
    SessionsTooLarge {
        /// The most bytes of all registrations.
        cap: usize,
    },
    /// A session's registration would be too large, with what is known of it already.
    #[error("a session's registration has at most {cap} bytes of JSON in all")]
    SessionTooLarge {
        /// The most bytes of one registration.
        cap: usize,
    },
    /// The question has already reached its final state.
    #[error("question {id} is {state} already")]
    QuestionSettled {
        /// The number of the question.
        id: Seq,
        /// The final state.
        state: QuestionState,
    },
    /// The session has another need than the one that the command closes.
    #[error("the session has gone on since: read its present needs")]
    NeedChanged,
    /// The agent shows this question in its own dialog, which answers from the hub cannot reach.
    #[error(
        "{} shows this in a dialog of its own: answer it there ({})",
        Quoted(name),
        place_of(place)
    )]
    InTerminal {
        /// The number of the question.
        id: Seq,
        /// The name of the session that asks.
        name: String,
        /// The host, directory and tmux pane of the session, as far as they are known.
        place: Place,
    },
    /// The agent's hook cannot use this answer.
    #[error("the agent cannot use this answer: {}", takes.expected())]
    UnusableAnswer {
        /// The number of the question.
        id: Seq,
        /// The answers that the agent takes.
        takes: AnswerKind,
    },
    /// The answer allows a request that the hub does not have whole.
    #[error("the hub does not have all of this request: allow it in the agent's own terminal")]
    Unseen(Seq),
    /// The answerer may not answer this question.
    #[error("{0}")]
    NotAllowed(&'static str),
    /// The answer names no open question.
    #[error("an answer must name an open question in reply_to")]
    NoSuchQuestion,
    /// The active hub of the cluster refused it, for this reason.
    #[error("{0}")]
    Elsewhere(String),
    /// The notification expires before it is stored.
    #[error("expires_at lies in the past")]
    ExpiredAlready,
}

/// Formats a place: `host "mill", "/src/hub", tmux pane "%7"`. The session reported it, and agents read it.
fn place_of(place: &Place) -> String {
    let quoted = |it: &Option<String>| it.as_deref().map(|it| Quoted(it).to_string());
    let host = quoted(&place.host).map(|it| format!("host {it}"));
    let pane = quoted(&place.pane).map(|it| format!("tmux pane {it}"));
    let known = [host, quoted(&place.cwd), pane];
    match known.into_iter().flatten().collect::<Vec<_>>() {
        parts if parts.is_empty() => "the hub does not know where it runs".into(),
        parts => parts.join(", "),
    }
}

/// The end of a sentence that misses a name in one project.
fn of_project(name: &InboxName, elsewhere: Option<&ProjectName>) -> String {
    elsewhere.map_or(String::new(), |it| {
        format!("; '{name}' is in project '{it}'")
    })
}
