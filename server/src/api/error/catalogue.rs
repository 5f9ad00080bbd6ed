//! Every error that a client can get, in one table.

use axum::http::StatusCode;

/// What went wrong, by its stable name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// No HTTP, or nothing that can be read at all.
    Malformed,
    /// A cursor that is none.
    MalformedCursor,
    /// A Host that is not this hub's.
    WrongHost,
    /// A web page of somebody else.
    ForeignOrigin,
    /// No token, or a wrong one.
    Unauthorized,
    /// A code for signing in that opens nothing, or no longer.
    BadCode,
    /// Something that a dashboard's session may not do.
    NeedsToken,
    /// No such path.
    NotFound,
    /// The path does not know the method.
    MethodNotAllowed,
    /// The body did not come in time.
    Timeout,
    /// A body or a notification that is too large.
    PayloadTooLarge,
    /// A URI that is too long.
    UriTooLong,
    /// A header that is too large.
    HeaderTooLarge,
    /// A body in a form that is not read.
    UnsupportedMediaType,
    /// Readable, but it breaks a rule of the contract.
    Invalid,
    /// A type that does not exist.
    UnknownType,
    /// An inbox that does not exist.
    UnknownInbox,
    /// A notification that does not exist, or no longer.
    UnknownNotification,
    /// Somebody else waits there.
    InboxHeld,
    /// Another waiter took the inbox over.
    TakenOver,
    /// The Idempotency-Key was used for another request.
    KeyReused,
    /// The answer names no open question.
    NoSuchQuestion,
    /// A session that does not exist.
    UnknownSession,
    /// An agent that the hub has no hooks for.
    UnknownAgent,
    /// The question is settled already.
    QuestionSettled,
    /// Somebody else has to answer.
    NotYours,
    /// A cap on inboxes is reached.
    TooManyInboxes,
    /// A cap on listeners is reached.
    TooManyListeners,
    /// A lease that this hub never gave.
    ForgedLease,
    /// The writer's queue is full.
    Busy,
    /// The hub starts, ends, or found its storage broken.
    NotReady,
    /// The storage failed.
    StorageFailed,
    /// No space is left.
    DiskFull,
    /// Too many connections or waiting requests.
    TooManyConnections,
    /// A defect of the hub.
    Internal,
}

/// One line of the table.
pub(super) struct Entry {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) title: &'static str,
    pub(super) hint: &'static str,
}

const fn entry(status: u16, code: &'static str, title: &'static str, hint: &'static str) -> Entry {
    Entry {
        status,
        code,
        title,
        hint,
    }
}

impl Code {
    /// Every code, in the order of the table.
    pub const ALL: [Self; 35] = [
        Self::Malformed,
        Self::MalformedCursor,
        Self::WrongHost,
        Self::ForeignOrigin,
        Self::Unauthorized,
        Self::BadCode,
        Self::NeedsToken,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Timeout,
        Self::PayloadTooLarge,
        Self::UriTooLong,
        Self::HeaderTooLarge,
        Self::UnsupportedMediaType,
        Self::Invalid,
        Self::UnknownType,
        Self::UnknownInbox,
        Self::UnknownNotification,
        Self::InboxHeld,
        Self::TakenOver,
        Self::KeyReused,
        Self::NoSuchQuestion,
        Self::UnknownSession,
        Self::UnknownAgent,
        Self::QuestionSettled,
        Self::NotYours,
        Self::TooManyInboxes,
        Self::TooManyListeners,
        Self::ForgedLease,
        Self::Busy,
        Self::NotReady,
        Self::StorageFailed,
        Self::DiskFull,
        Self::TooManyConnections,
        Self::Internal,
    ];

    #[rustfmt::skip]
    pub(super) const fn entry(self) -> Entry {
        match self {
            Self::Malformed => entry(400, "malformed", "malformed request",
                "send one well-formed HTTP/1.1 request, see /openapi.yaml"),
            Self::MalformedCursor => entry(400, "malformed_cursor", "malformed cursor",
                "use an event's id (EPOCH-SEQ), a bare SEQ, or 0 for the earliest kept, once"),
            Self::WrongHost => entry(421, "wrong_host", "this host is not served",
                "use http://127.0.0.1:PORT, or name the host in allowed_hosts"),
            Self::ForeignOrigin => entry(403, "foreign_origin", "web pages of other origins are refused",
                "use the hub's own dashboard, or a client that is no web page"),
            Self::Unauthorized => entry(401, "unauthorized", "a token is needed",
                "send Authorization: Bearer TOKEN (curl -H @STATE_DIR/auth.header), or use the Unix socket"),
            Self::BadCode => entry(401, "bad_code", "this code opens nothing, or no longer",
                "run hubctl dashboard again: a code works once, and for 30 seconds"),
            Self::NeedsToken => entry(403, "needs_token", "a dashboard's session may not do this",
                "run hubctl dashboard where the hub runs, or use the hub's token or its Unix socket"),
            Self::NotFound => entry(404, "not_found", "no such path",
                "see /openapi.yaml for the paths"),
            Self::MethodNotAllowed => entry(405, "method_not_allowed", "the path does not know this method",
                "use a method of the Allow header"),
            Self::Timeout => entry(408, "timeout", "the request took too long",
                "send the whole request at once; retry with the same Idempotency-Key"),
            Self::PayloadTooLarge => entry(413, "payload_too_large", "too large",
                "at most 64 KiB a notification, 1 MiB and 1000 notifications a request"),
            Self::UriTooLong => entry(414, "uri_too_long", "the URI is too long",
                "put the text into the body"),
            Self::HeaderTooLarge => entry(431, "header_too_large", "the header is too large",
                "send at most 100 header fields and 8 KiB of header"),
            Self::UnsupportedMediaType => entry(415, "unsupported_media_type", "the body's form is not supported",
                "send JSON, NDJSON or plain text as UTF-8, without Content-Encoding"),
            Self::Invalid => entry(422, "invalid", "the request breaks a rule",
                "correct what the detail names, see /openapi.yaml"),
            Self::UnknownType => entry(422, "unknown_type", "unknown type",
                "use complete, waiting, question, approval, testing, error, progress, message, answer or ended"),
            Self::UnknownInbox => entry(404, "unknown_inbox", "no such inbox",
                "see GET /inboxes, and check the project"),
            Self::UnknownNotification => entry(404, "unknown_notification", "no such notification",
                "it may have been dropped by retention; see GET /notifications"),
            Self::InboxHeld => entry(409, "inbox_held", "somebody waits at this inbox already",
                "stop the other waiter, or take the inbox over with takeover=true"),
            Self::TakenOver => entry(409, "taken_over", "another waiter took the inbox over",
                "do not wait again unless this inbox is meant to be yours"),
            Self::KeyReused => entry(409, "key_reused", "this Idempotency-Key was used for another request",
                "make a new key for each new request"),
            Self::NoSuchQuestion => entry(422, "no_such_question", "the answer names no open question",
                "give the open question's id in reply_to, or use type message"),
            Self::UnknownSession => entry(404, "unknown_session", "no such session",
                "see GET /sessions, and check the project; a name, an id or its unique beginning will do"),
            Self::UnknownAgent => entry(404, "unknown_agent", "no such agent",
                "use claude, codex, gemini, opencode, copilot or cursor"),
            Self::QuestionSettled => entry(409, "question_settled", "the question is settled already",
                "see GET /questions/{id} for its answer"),
            Self::NotYours => entry(403, "not_yours", "this is for somebody else to answer",
                "let a person answer it: on the dashboard, or with hubctl answer in a terminal outside any agent"),
            Self::TooManyInboxes => entry(409, "too_many_inboxes", "too many inboxes",
                "remove some with DELETE /inboxes/{inbox}"),
            Self::TooManyListeners => entry(409, "too_many_listeners", "too many listeners",
                "remove some with DELETE /sessions/{target}/listeners/{caller}; GET /sessions shows them"),
            Self::ForgedLease => entry(422, "forged_lease", "not a lease of this hub",
                "use the lease exactly as GET /wait gave it, or acknowledge ids"),
            Self::Busy => entry(503, "busy", "the hub is busy",
                "retry in a second, with the same Idempotency-Key"),
            Self::NotReady => entry(503, "not_ready", "the hub is not ready",
                "retry in a second; if it lasts, read the hub's log and run hubd doctor"),
            Self::StorageFailed => entry(503, "storage_failed", "the storage failed",
                "what was sent may be stored: retry with the same Idempotency-Key, and read the hub's log"),
            Self::DiskFull => entry(507, "disk_full", "the disk is full",
                "make room; nothing was stored, and reading and acknowledging go on"),
            Self::TooManyConnections => entry(503, "too_many_connections", "too many connections or waiting requests",
                "close some, or raise limits.connections and limits.streams"),
            Self::Internal => entry(500, "internal", "the hub failed",
                "this is a defect: read the hub's log and report it"),
        }
    }

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        self.entry().code
    }

    /// Its HTTP status.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.entry().status).expect("the table holds valid statuses")
    }

    /// The code that says nothing more than `status` does.
    pub fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            404 => Self::NotFound,
            405 => Self::MethodNotAllowed,
            408 => Self::Timeout,
            413 => Self::PayloadTooLarge,
            414 => Self::UriTooLong,
            415 => Self::UnsupportedMediaType,
            431 => Self::HeaderTooLarge,
            400 => Self::Malformed,
            other if other < 500 => Self::Invalid,
            503 => Self::NotReady,
            _ => Self::Internal,
        }
    }
}
