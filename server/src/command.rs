//! Commands: what somebody asks of the hub, already parsed and validated, and why it may refuse.

use bytes::Bytes;
use hub_protocol::{
    InboxName, Kind, Preferences, Priority, ProjectName, QuestionState, Seq, SessionInfo,
    Timestamp, Way,
};

use crate::record::Record;

mod hook;

pub use hook::{Happened, Hook};

/// What is asked of the fold.
#[allow(clippy::large_enum_variant)] // one at a time, and moved once
#[derive(Debug, Clone)]
pub enum Command {
    /// Store notifications, all or none.
    Notify {
        /// What to store, in order.
        drafts: Vec<Draft>,
        /// Do it once for this key.
        once: Option<Once>,
    },
    /// Readers have these.
    Ack {
        /// The project of the inboxes.
        project: ProjectName,
        /// What each inbox's reader has.
        items: Vec<(InboxName, Vec<Seq>)>,
        /// Who read them.
        by: Option<String>,
        /// The agent session that they were shown to, and how.
        shown: Option<(InboxName, Way)>,
    },
    /// Take notifications back.
    Withdraw {
        /// Which.
        ids: Vec<Seq>,
    },
    /// Take back what is pending under a collapse key.
    WithdrawKey {
        /// The project.
        project: ProjectName,
        /// The sender; any when absent.
        from: Option<InboxName>,
        /// The key.
        key: String,
    },
    /// The person's mark.
    Seen {
        /// The notifications.
        ids: Vec<Seq>,
        /// And every one up to this.
        up_to: Option<Seq>,
        /// Seen, or unseen again.
        seen: bool,
    },
    /// Replace the person's preferences.
    SetPreferences(Box<Preferences>),
    /// Remove an inbox and drop what is pending there.
    CloseInbox {
        /// The project.
        project: ProjectName,
        /// The inbox.
        inbox: InboxName,
    },
    /// Empty a project: its inboxes, keys and session states.
    Reset {
        /// The project.
        project: ProjectName,
        /// And show nothing any more of what was said in it.
        history: bool,
    },
    /// Drop the log's prefix.
    Trim {
        /// The first number to keep.
        below: Seq,
        /// The JSON of everything below that is still pending; what is missing here is evicted.
        carried: Vec<(Seq, Bytes)>,
    },
    /// Know a session, or more of it.
    Register {
        /// The project.
        project: ProjectName,
        /// An id of it.
        session: InboxName,
        /// What is said of it.
        info: SessionInfo,
    },
    /// A session is over.
    End {
        /// The project.
        project: ProjectName,
        /// The session.
        session: InboxName,
        /// Whether its process died.
        gone: bool,
    },
    /// Make a session the project's primary.
    TakePrimary {
        /// The project.
        project: ProjectName,
        /// The session.
        session: InboxName,
    },
    /// What an agent's hook told.
    Hook(Box<Hook>),
    /// Tell a session of another's next stop.
    Listen {
        /// The project.
        project: ProjectName,
        /// Who is listened to.
        target: InboxName,
        /// Who is told.
        caller: InboxName,
        /// In how many milliseconds something must have come.
        within_ms: Option<i64>,
        /// Only a stop that is still to come counts.
        fresh: bool,
    },
    /// Do not.
    Unlisten {
        /// The project.
        project: ProjectName,
        /// Who is listened to.
        target: InboxName,
        /// Who is told.
        caller: InboxName,
    },
    /// Be on a question.
    Claim {
        /// The question.
        id: Seq,
        /// Who.
        by: InboxName,
    },
    /// Take a question back.
    WithdrawQuestion {
        /// The question.
        id: Seq,
        /// Who.
        by: InboxName,
    },
    /// Time has passed: do what is due.
    Tick,
    /// The wall clock jumped by this many milliseconds.
    ClockMoved {
        /// How far.
        delta_ms: i64,
    },
}

/// A notification before it has a number.
#[allow(clippy::struct_excessive_bools)] // each says one thing
#[derive(Debug, Clone)]
pub struct Draft {
    /// The project.
    pub project: ProjectName,
    /// Who says it.
    pub from: InboxName,
    /// What it is.
    pub kind: Kind,
    /// Whether the sender named the type: a defaulted one changes no session's state.
    pub explicit_kind: bool,
    /// The inbox that was named.
    pub to: Option<InboxName>,
    /// Whose worker the sender is.
    pub parent: Option<InboxName>,
    /// Whose state it changes, if not the sender's.
    pub session: Option<InboxName>,
    /// How much it matters.
    pub priority: Priority,
    /// What it replaces.
    pub key: Option<String>,
    /// The notification it answers.
    pub reply_to: Option<Seq>,
    /// Whether an agent may allow what another asks to do.
    pub may_approve: bool,
    /// How many replies lie before it.
    pub hops: u32,
    /// When it was said.
    pub ts: Timestamp,
    /// When it stops being offered.
    pub expires_at: Timestamp,
    /// It wakes nobody: it comes late, or is told to whoever looks.
    pub quiet: bool,
    /// It goes to no inbox.
    pub recorded: bool,
    /// The notification's JSON from after `{"id":N,` to the end, brace included.
    pub tail: Bytes,
}

/// An Idempotency-Key and what it was used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// The key.
    pub key: String,
    /// SHA-256 of the request, in hexadecimal.
    pub digest: String,
}

impl Once {
    /// A key, and the body of the request it came with.
    pub fn new(key: &str, body: &[u8]) -> Self {
        use sha2::Digest as _;
        let digest = crate::secret::hex(&sha2::Sha256::digest(body));
        Self {
            key: key.into(),
            digest,
        }
    }
}

/// What the fold decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// These records, to be committed together; none where nothing changes.
    Records(Vec<Record>),
    /// It was done before, and made these.
    Repeat(Vec<Seq>),
}

impl Decision {
    /// Whether it says something, which takes room in the log until somebody has read it.
    pub fn speaks(&self) -> bool {
        let says = |record: &Record| matches!(record, Record::Notified(_));
        matches!(self, Self::Records(records) if records.iter().any(says))
    }
}

/// Why the fold says no. Nothing has changed.
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
        /// The cap.
        cap: usize,
    },
    /// No such inbox.
    #[error("no inbox '{inbox}' in project '{project}'")]
    UnknownInbox {
        /// The project.
        project: ProjectName,
        /// The inbox.
        inbox: InboxName,
        /// The nearest known name.
        nearest: Option<InboxName>,
    },
    /// A notification that does not exist, or is above the head.
    #[error("no notification {0}")]
    UnknownId(Seq),
    /// No such session.
    #[error("no session '{name}' in project '{project}'")]
    UnknownSession {
        /// The project.
        project: ProjectName,
        /// What was asked for.
        name: InboxName,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// A session cannot listen for itself.
    #[error("a session cannot listen for its own stop")]
    OwnListener,
    /// A cap on listeners is reached.
    #[error("the hub has {cap} listeners already")]
    TooManyListeners {
        /// The cap.
        cap: usize,
    },
    /// The question is settled already.
    #[error("question {id} is {} already", state_name(*state))]
    QuestionSettled {
        /// The question.
        id: Seq,
        /// How.
        state: QuestionState,
    },
    /// Somebody else has to answer.
    #[error("{0}")]
    NotYours(&'static str),
    /// An answer that names no open question.
    #[error("an answer must name an open question in reply_to")]
    NoSuchQuestion,
    /// A time that was over before it came.
    #[error("expires_at lies in the past")]
    ExpiredAlready,
}

fn state_name(state: QuestionState) -> &'static str {
    match state {
        QuestionState::Open => "open",
        QuestionState::Claimed => "claimed",
        QuestionState::Answered => "answered",
        QuestionState::Withdrawn => "withdrawn",
        QuestionState::Superseded => "superseded",
        QuestionState::Expired => "expired",
    }
}
