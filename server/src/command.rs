//! Commands: what somebody asks of the hub, already parsed and validated, and why it may refuse.

use bytes::Bytes;
use hub_protocol::{InboxName, Kind, Priority, ProjectName, Seq, Timestamp};

/// What is asked of the fold.
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
    },
    /// Drop the log's prefix.
    Trim {
        /// The first number to keep.
        below: Seq,
        /// The JSON of everything below that is still pending; what is missing here is evicted.
        carried: Vec<(Seq, Bytes)>,
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
    /// How many replies lie before it.
    pub hops: u32,
    /// When it was said.
    pub ts: Timestamp,
    /// When it stops being offered.
    pub expires_at: Timestamp,
    /// It comes late (an old spool file) and wakes nobody.
    pub quiet: bool,
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
    Records(Vec<crate::record::Record>),
    /// It was done before, and made these.
    Repeat(Vec<Seq>),
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
    /// An answer that names no open question.
    #[error("an answer must name an open question in reply_to")]
    NoSuchQuestion,
    /// A time that was over before it came.
    #[error("expires_at lies in the past")]
    ExpiredAlready,
}
