//! The table of every error that a client can get.

use axum::http::StatusCode;

/// One row of the table.
pub struct CatalogueEntry {
    /// The status of the response.
    pub status: u16,
    /// The name on the wire.
    pub code: &'static str,
    /// The error as a sentence.
    pub title: &'static str,
    /// The next step for the client.
    pub hint: &'static str,
}

/// Makes [`Code`] from the table: for each error its status, its code on the wire, its title and its hint.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident => $status:literal $code:literal, $title:literal, $hint:literal;)*) => {
        /// The code of an error; its name on the wire is stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its row of the table.
            pub const fn entry(self) -> CatalogueEntry {
                let (status, code, title, hint) = match self {
                    $(Self::$name => ($status, $code, $title, $hint),)*
                };
                CatalogueEntry { status, code, title, hint }
            }
        }
    };
}

codes! {
    /// The request is not HTTP, or cannot be parsed.
    Malformed => 400 "malformed", "malformed request",
        "send one well-formed HTTP/1.1 request, see /openapi.yaml";
    /// A cursor that cannot be parsed.
    MalformedCursor => 400 "malformed_cursor", "malformed cursor",
        "use an event's id (EPOCH-SEQ), a bare SEQ, or 0 for the earliest kept, once";
    /// The Host header names an address that this hub does not serve.
    WrongHost => 421 "wrong_host", "this host is not served",
        "use http://127.0.0.1:PORT, or name the host in allowed_hosts";
    /// The request comes from a web page of another origin.
    ForeignOrigin => 403 "foreign_origin", "web pages of other origins are refused",
        "use the hub's own dashboard, or a client that is not a browser";
    /// No token, or a wrong one.
    Unauthorized => 401 "unauthorized", "the request has no valid token",
        "send Authorization: Bearer TOKEN (curl -H @STATE_DIR/auth.header), or use the Unix socket";
    /// A sign-in code that is invalid or expired.
    BadCode => 401 "bad_code", "this sign-in code is invalid or has expired",
        "run hubctl dashboard or hubctl phone again: a code works once, and for 30 seconds or two minutes";
    /// The request comes from another user of this machine.
    ForeignUser => 403 "foreign_user", "the request came from another user's program",
        "open the link of `hubctl dashboard` in a browser of the user who runs the hub; behind a proxy, use the link of `hubctl phone`";
    /// A device that is not signed in.
    UnknownDevice => 404 "unknown_device", "no such device",
        "`hubctl dashboard --devices` lists the signed-in browsers";
    /// A dashboard session asked for an operation that requires the token.
    NeedsToken => 403 "needs_token", "a dashboard session cannot do this",
        "run hubctl dashboard on the hub's machine, or use the hub's token or its Unix socket";
    /// A paired phone asked for an operation that it may not do.
    NotForPhones => 403 "not_for_phones", "this device may not do this",
        "use the dashboard on the hub's machine; `hubctl phone` pairs a device that may answer";
    /// No such path.
    NotFound => 404 "not_found", "no such path",
        "/openapi.yaml lists the paths";
    /// The path does not support the method.
    MethodNotAllowed => 405 "method_not_allowed", "this path does not support the method",
        "use a method of the Allow header";
    /// The body did not arrive in time.
    Timeout => 408 "timeout", "the request took too long",
        "send the whole request at once; retry with the same Idempotency-Key";
    /// The body or one of its notifications is too large.
    PayloadTooLarge => 413 "payload_too_large", "the body or a notification is too large",
        "at most 64 KiB a notification, 1 MiB and 1000 notifications a request";
    /// The URI is too long.
    UriTooLong => 414 "uri_too_long", "the URI is too long",
        "put the text into the body";
    /// The request's header is too large.
    HeaderTooLarge => 431 "header_too_large", "the header is too large",
        "send at most 100 header fields and 8 KiB of header";
    /// The body's format or encoding is not supported.
    UnsupportedMediaType => 415 "unsupported_media_type", "the body's format is not supported",
        "send JSON, NDJSON or plain text as UTF-8, without Content-Encoding";
    /// The request can be parsed, but breaks a rule of the contract.
    Invalid => 422 "invalid", "the request breaks a rule",
        "correct the field that the detail names; /openapi.yaml describes it";
    /// A type that does not exist.
    UnknownType => 422 "unknown_type", "unknown type",
        "use complete, waiting, question, approval, testing, error, progress, message, answer or ended";
    /// An inbox that does not exist.
    UnknownInbox => 404 "unknown_inbox", "no such inbox",
        "check the name and the project; `hubctl inboxes` and GET /inboxes list them";
    /// A notification that does not exist, or was dropped by retention.
    UnknownNotification => 404 "unknown_notification", "no such notification",
        "retention may have dropped it; `hubctl history` and GET /notifications list those that are kept";
    /// Another waiter holds the inbox.
    InboxHeld => 409 "inbox_held", "another waiter holds the inbox",
        "stop the other waiter, or take the inbox over with takeover=true";
    /// Another waiter took the inbox over.
    TakenOver => 409 "taken_over", "another waiter took the inbox over",
        "wait again only if this inbox is yours";
    /// The project was reset during the wait.
    ProjectReset => 409 "project_reset", "the project was reset, which ends its waits",
        "wait again if this inbox should still get notifications";
    /// The Idempotency-Key was used for another request.
    KeyReused => 409 "key_reused", "this Idempotency-Key was used for another request",
        "make a new key for each new request";
    /// The answer does not belong to an open question.
    NoSuchQuestion => 422 "no_such_question", "the answer names no open question",
        "give the open question's id in reply_to, or use type message";
    /// An answer to what is no question, and has no session that could read it.
    NoReader => 422 "no_reader", "an answer to this has no reader",
        "`hubctl done NAME` and POST /needs/{id}/done end it";
    /// A question, which the person cannot end without an answer.
    EndsByAnswer => 422 "ends_by_answer", "a question ends by its answer",
        "`hubctl answer ID` and POST /needs/{id}/answer give one";
    /// A need that does not exist, or has ended.
    UnknownNeed => 404 "unknown_need", "no such need",
        "it may have ended; `hubctl needs` and GET /needs list the present ones";
    /// A session that does not exist.
    UnknownSession => 404 "unknown_session", "no such session",
        "give a name, an id or its unique beginning, and check the project; `hubctl sessions` and GET /sessions list them";
    /// An agent whose hooks the hub does not support.
    UnknownAgent => 404 "unknown_agent", "no such agent",
        "use the name of one of the agents in detail";
    /// The question is settled already.
    QuestionSettled => 409 "question_settled", "the question is settled already",
        "`hubctl trace ID` and GET /questions/{id} show its answer";
    /// The agent asks in a dialog of its own terminal, and the answer belongs there.
    AnswerInTerminal => 409 "answer_in_terminal", "only the agent's own terminal can answer this",
        "answer the dialog where the agent runs; nothing was stored";
    /// The caller may not answer this question.
    NotYours => 403 "not_yours", "the question is not for this caller to answer",
        "let a person answer it: on the dashboard, or with hubctl answer in a terminal that no agent started";
    /// Only a person may do this.
    NeedsPerson => 403 "needs_person", "only a person may do this",
        "use the dashboard, or hubctl in a terminal that no agent started";
    /// The terminal of a session cannot be shown.
    PaneUnreachable => 409 "pane_unreachable", "the session's terminal cannot be shown",
        "open the terminal yourself: `hubctl look` and GET /sessions/{id} show the host, the directory and the pane";
    /// An inbox limit is reached.
    TooManyInboxes => 409 "too_many_inboxes", "too many inboxes",
        "all have pending notifications: read some, or empty some with DELETE /inboxes/{inbox}";
    /// A listener limit is reached.
    TooManyListeners => 409 "too_many_listeners", "too many listeners",
        "remove some with `hubctl unlisten` or DELETE /sessions/{target}/listeners/{caller}; GET /sessions lists them";
    /// A limit on open questions is reached.
    TooManyQuestions => 409 "too_many_questions", "too many open questions",
        "answer or withdraw some; `hubctl questions` and GET /questions list them";
    /// A limit on sessions is reached.
    TooManySessions => 409 "too_many_sessions", "too many sessions",
        "end some with DELETE /sessions/{target}, or reset their project; `hubctl sessions` and GET /sessions list them";
    /// A limit on background waits of MCP clients is reached.
    TooManyTasks => 409 "too_many_tasks", "too many background waits",
        "cancel some, or wait until one ends";
    /// The lease was not issued by this hub.
    ForgedLease => 422 "forged_lease", "not a lease of this hub",
        "send the lease exactly as GET /wait returned it, or acknowledge ids";
    /// The writer's queue is full.
    Busy => 503 "busy", "the hub is busy",
        "retry in a second, with the same Idempotency-Key";
    /// Too many requests of this kind run or wait already, each of which is expensive.
    Overloaded => 503 "overloaded", "too many expensive requests at once",
        "retry in a second, one request at a time";
    /// No hub of the cluster is active, or NATS did not confirm the commit.
    NoActiveHub => 503 "no_active_hub", "no hub of the cluster is active",
        "the request may have been stored: retry in a second, with the same Idempotency-Key; hubctl status shows the cluster";
    /// The hub to which the active one shall hand over cannot take over.
    CannotLead => 409 "cannot_lead", "that hub cannot become the active one",
        "choose a hub that hubctl status shows as a standby, 0 behind";
    /// There is no other hub to which this one could hand over.
    NoCluster => 409 "no_cluster", "this hub is not in a cluster",
        "docs/how-to/cluster.md describes how to set one up";
    /// The hub is starting or stopping, or its storage is broken.
    NotReady => 503 "not_ready", "the hub is not ready",
        "retry in a second; if the error stays, read the hub's log and run hubd doctor";
    /// A write to the storage failed.
    StorageFailed => 503 "storage_failed", "a write to the storage failed",
        "the notifications may be stored: retry with the same Idempotency-Key, and read the hub's log";
    /// The disk is full.
    DiskFull => 507 "disk_full", "the disk is full",
        "free some space; nothing was stored, and reading and acknowledging still work";
    /// Too many connections or waiting requests.
    TooManyConnections => 503 "too_many_connections", "too many connections or waiting requests",
        "close some, or raise limits.connections and limits.streams";
    /// An internal error: a defect of the hub.
    Internal => 500 "internal", "the hub failed internally",
        "this is a defect: read the hub's log and report it";
}

impl Code {
    /// The code's name on the wire.
    pub fn as_str(self) -> &'static str {
        self.entry().code
    }

    /// The code's HTTP status.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.entry().status).expect("the table holds valid statuses")
    }

    /// Whether trying again at once is of no use, because a limit is reached or the caller is another user. The answer is
    /// delayed then.
    pub(crate) const fn is_delayed(self) -> bool {
        matches!(
            self,
            Self::Busy
                | Self::ForeignUser
                | Self::Overloaded
                | Self::TooManyInboxes
                | Self::TooManyListeners
                | Self::TooManyQuestions
                | Self::TooManySessions
                | Self::TooManyTasks
        )
    }

    /// The general code for an HTTP status, for errors that the framework raises.
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
